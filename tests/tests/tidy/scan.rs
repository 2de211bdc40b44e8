//! Just enough of Rust's lexical structure to measure functions and to tell code from text.

/// The source with comments, strings and characters blanked. Lines stay where they are.
pub(crate) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let after_word = code.chars().next_back().is_some_and(is_word);
        let length = not_code(rest, after_word);
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            blank(&rest[..length], &mut code);
            rest = &rest[length..];
        }
    }
    code
}

/// The code without items that exist only under `#[cfg(test)]`. Takes what `code_only` returns.
pub(crate) fn without_tests(code: &str) -> String {
    if code.contains("#![cfg(test)]") {
        return String::new();
    }
    let mut shipped = String::with_capacity(code.len());
    let mut rest = code;
    while let Some((start, length)) = first_test_item(rest) {
        shipped.push_str(&rest[..start]);
        blank(&rest[start..start + length], &mut shipped);
        rest = &rest[start + length..];
    }
    shipped + rest
}

/// Names of modules that are declared as `#[cfg(test)] mod name;`: their files are test code as a whole.
pub(crate) fn test_modules(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = code;
    while let Some((start, length)) = first_test_item(rest) {
        let item = &rest[start..start + length];
        if let (Some(at), true) = (words(item, "mod").first(), item.ends_with(';')) {
            names.push(item[at + "mod".len()..item.len() - 1].trim().to_owned());
        }
        rest = &rest[start + length..];
    }
    names
}

/// A function with a body.
#[derive(Debug, PartialEq)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// The line with `fn`, from 1.
    pub(crate) line: usize,
    /// From that line to the closing brace.
    pub(crate) lines: usize,
}

/// All functions, also nested ones and methods. Takes what `code_only` returns.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let signature = code[at + "fn".len()..].trim_start();
        let name = &signature[..signature.find(|c| !is_word(c)).unwrap_or(signature.len())];
        if name.is_empty() {
            continue; // a function pointer's type
        }
        let length = item_length(signature);
        let end = code.len() - signature.len() + length;
        if signature[..length].ends_with('}') {
            let line = line_of(code, at);
            found.push(Function { name, line, lines: line_of(code, end - 1) - line + 1 });
        }
    }
    found
}

/// Where `needle` stands in the code; at its ends that are words it does not continue a longer word.
pub(crate) fn words(code: &str, needle: &str) -> Vec<usize> {
    let continues =
        |edge: Option<char>, next: Option<char>| edge.is_some_and(is_word) && next.is_some_and(is_word);
    code.match_indices(needle)
        .map(|(at, _)| at)
        .filter(|at| !continues(needle.chars().next(), code[..*at].chars().next_back()))
        .filter(|at| !continues(needle.chars().next_back(), code[at + needle.len()..].chars().next()))
        .collect()
}

/// The line of a position, from 1.
pub(crate) fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn blank(text: &str, into: &mut String) {
    into.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

/// How many bytes at the start of `rest` are a comment, a string or a character; 0 for code.
fn not_code(rest: &str, after_word: bool) -> usize {
    let end_of = |found: Option<usize>| found.unwrap_or(rest.len());
    if rest.starts_with("//") {
        return end_of(rest.find('\n'));
    }
    if rest.starts_with("/*") {
        return end_of(block_comment(rest));
    }
    if rest.starts_with('"') {
        return end_of(quoted(rest, '"'));
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    let prefix = ["r", "br", "cr"].into_iter().find_map(|prefix| rest.strip_prefix(prefix));
    if let (Some(body), false) = (prefix, after_word) {
        let text = body.trim_start_matches('#');
        if let Some(text) = text.strip_prefix('"') {
            let hashes = body.len() - text.len() - 1;
            let close = format!("\"{}", "#".repeat(hashes));
            return text.find(&close).map_or(rest.len(), |at| rest.len() - text.len() + at + close.len());
        }
    }
    0
}

/// The end of a comment that may hold others.
fn block_comment(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    loop {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += rest[at..].chars().next()?.len_utf8();
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The end of a literal in which a backslash protects what follows.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return Some(at + 1);
        }
    }
    None
}

/// The length of a character literal; 0 for a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted(rest, '\'').unwrap_or(rest.len()),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 0,
    }
}

/// Start and length of the first item under `#[cfg(test)]`, from its attribute on.
fn first_test_item(code: &str) -> Option<(usize, usize)> {
    let start = ["#[cfg(test)]", "#[cfg(all(test,"].into_iter().filter_map(|mark| code.find(mark)).min()?;
    Some((start, item_length(&code[start..])))
}

/// The length of an item: to the end of its braces, or to a semicolon outside all brackets.
fn item_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return at; // the end of what encloses it
        }
        if depth == 0 && (c == '}' || c == ';') {
            return at + 1;
        }
    }
    code.len()
}

#[test]
fn texts_and_comments_are_no_code() {
    // Blanks are squeezed in the expectation.
    let same = |source: &str, expected: &str| {
        let code = code_only(source);
        assert_eq!(code.chars().count(), source.chars().count(), "{source}");
        let words: Vec<_> = code.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "{source}");
    };
    same("a // b {\nc", "a c");
    same("a /* { /* } */ */ b", "a b");
    same(r#"a("}\"{", b)"#, "a( , b)");
    same(r##"a(r#"" {"#, b"{", br"\") {"##, "a( , b , ) {");
    same(r"['{', '\'', '\u{7f}', b'}', '’']", "[ , , , b , ]");
    same("f<'a, 'b>(x: &'a str) -> &'static str {", "f<'a, 'b>(x: &'a str) -> &'static str {");
    same("r#fn bar\n\"\n{\" b", "r#fn bar b");
    same("a \"open {", "a");
}

#[test]
fn functions_are_measured() {
    let code = code_only(
        "fn a(x: [u8; 4]) -> u8 {\n    if x[0] == b'{' {\n    }\n    1\n}\ntrait T {\n    fn b();\n    fn c() {}\n}\n\
         type F = fn(u8) -> u8;\nfn outer()\nwhere\n    u8: Copy,\n{\n    fn inner() {\n    }\n} // }\nlet fnord = 1;",
    );
    let expected = [("a", 1, 5), ("c", 8, 1), ("outer", 11, 7), ("inner", 15, 2)];
    assert_eq!(functions(&code), expected.map(|(name, line, lines)| Function { name, line, lines }));
}

#[test]
fn test_items_are_left_out() {
    let code = "a();\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n  b();\n}\nc();\n#[cfg(test)]\nmod far;\nd();\n\
                #[cfg(test)]\nextern crate std;\n#[cfg(not(test))]\nmod e {}\n#[cfg(all(test, y))]\nmod f { }";
    let shipped = without_tests(code);
    let words: Vec<_> = shipped.split_whitespace().collect();
    assert_eq!(words, ["a();", "c();", "d();", "#[cfg(not(test))]", "mod", "e", "{}"]);
    assert_eq!(line_of(&shipped, shipped.find("c()").unwrap()), 7);
    assert_eq!(test_modules(code), ["far"]);
    assert_eq!(without_tests("#![cfg(test)]\nb();"), "");
}

#[test]
fn words_end_where_words_end() {
    assert_eq!(words("std::a, my_std::b, (std::c)", "std::"), [0, 20]);
    assert_eq!(words("HashMap, MyHashMap, HashMaps", "HashMap"), [0]);
    assert_eq!(words("a.unwrap().unwrap_or()", ".unwrap()"), [1]);
}
