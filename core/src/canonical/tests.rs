//! Each thing that the reader refuses, with its place; and what the writer makes of numbers and names.

use super::*;
use CanonicalProblem as P;
use alloc::format;
use alloc::string::String;

fn canonical_text(json: &str) -> String {
    let bytes = canonicalize(json.as_bytes(), &Bounds::default());
    String::from_utf8(bytes.unwrap_or_else(|error| panic!("{json}: {error}"))).unwrap()
}

#[track_caller]
fn refused(json: impl AsRef<[u8]>) -> (u64, P) {
    let error = canonicalize(json.as_ref(), &Bounds::default()).expect_err("it is refused");
    (error.at, error.problem)
}

// proves: L6
#[test]
fn what_is_no_json_is_refused_at_its_byte() {
    let cases: [(&str, u64, P); 38] = [
        ("", 0, P::Expected("a value")),
        (" \n", 2, P::Expected("a value")),
        ("[1,]", 3, P::Expected("a value")),
        ("[1 2]", 3, P::Expected("a comma or the end of the list")),
        ("[1", 2, P::Expected("a comma or the end of the list")),
        ("{\"a\":1,}", 7, P::Expected("a name")),
        ("{,", 1, P::Expected("a name or the end of the object")),
        ("{a:1}", 1, P::Expected("a name or the end of the object")),
        ("{\"a\" 1}", 5, P::Expected("a colon")),
        ("{\"a\"", 4, P::Expected("a colon")),
        ("{\"a\":}", 5, P::Expected("a value")),
        ("{\"a\":1", 6, P::Expected("a comma or the end of the object")),
        ("{\"a\":1]", 6, P::Expected("a comma or the end of the object")),
        ("nul", 3, P::Expected("null")),
        ("tRue", 1, P::Expected("true")),
        ("falsy", 4, P::Expected("false")),
        ("1 2", 2, P::Trailing),
        ("{}}", 2, P::Trailing),
        ("nulll", 4, P::Trailing),
        ("-", 1, P::Expected("a digit")),
        ("+1", 0, P::Expected("a value")),
        ("01", 1, P::Expected("a number without leading zeros")),
        ("-00", 2, P::Expected("a number without leading zeros")),
        ("1.", 2, P::Expected("a digit")),
        (".5", 0, P::Expected("a value")),
        ("1e+", 3, P::Expected("a digit")),
        ("0x1", 1, P::Trailing),
        ("[1e309]", 1, P::Overflow),
        ("-1e999999999999", 0, P::Overflow),
        ("\"a", 2, P::Expected("a closing quote")),
        ("\"a\tb\"", 2, P::Control),
        ("\"0123456789\u{1f}\"", 11, P::Control),
        ("\"a\\x\"", 2, P::Escape),
        ("\"\\u12\"", 1, P::Escape),
        ("\"\\u+123\"", 1, P::Escape),
        ("\"ab\\ud800\"", 3, P::Surrogate),
        ("\"\\ud800\\ud800\"", 1, P::Surrogate),
        ("\"\\udc00\"", 1, P::Surrogate),
    ];
    for (json, at, problem) in cases {
        assert_eq!(refused(json), (at, problem), "{json:?}");
    }
    assert_eq!(refused(b"[\"a\xff\"]"), (3, P::NotUtf8));
    assert_eq!(refused(b"\xef\xbb\xbf{}"), (0, P::Expected("a value")), "a byte order mark");
}

// proves: L6
#[test]
fn a_name_that_stands_twice_is_refused_where_it_stands_again() {
    for (json, at) in [
        ("{\"a\":1,\"a\":1}", 7),
        ("{\"b\":{\"a\":1},\"a\":2,\"\\u0061\":3,\"a\":4}", 19),
        ("[0,{\"x\":{\"x\":[{\"y\":0,\"x\":1,\"x\":2}]}}]", 27),
        ("{\"\\ud83d\\ude00\":1,\"😀\":2}", 18),
        ("{\"\":1,\"\":2}", 6),
    ] {
        assert_eq!(refused(json), (at, P::Duplicate), "{json}");
    }
    assert_eq!(canonical_text("{\"a\":{\"a\":{}}}"), "{\"a\":{\"a\":{}}}", "not in different objects");
}

// proves: L6
#[test]
fn members_stand_in_the_order_of_utf_16() {
    let names =
        ["", "\u{0}", "10", "2", "A", "a", "aa", "é", "\u{d7ff}", "😀", "\u{10ffff}", "\u{e000}", "\u{ffff}"];
    for (at, a) in names.iter().enumerate() {
        for (other, b) in names.iter().enumerate() {
            assert_eq!(canonical(a, b), at.cmp(&other), "{a:?} {b:?}");
            assert_eq!(canonical(a, b), a.encode_utf16().cmp(b.encode_utf16()), "{a:?} {b:?}");
            let (a, b) = (format!("x{a}y"), format!("x{b}y"));
            assert_eq!(canonical(&a, &b), a.encode_utf16().cmp(b.encode_utf16()), "{a:?} {b:?}");
        }
    }
}

// proves: L6
#[test]
fn equal_numbers_are_written_alike() {
    for (number, text) in [
        ("-0", "0"),
        ("-0.0e5", "0"),
        ("1.0", "1"),
        ("1E2", "100"),
        ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"),
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("9007199254740991", "9007199254740991"),
        ("9007199254740992", "9007199254740992"),
        ("9007199254740993", "9007199254740992"),
        ("-9007199254740991.0", "-9007199254740991"),
        ("18446744073709551615", "18446744073709552000"),
        ("999999999999999", "999999999999999"),
        ("5e-324", "5e-324"),
        ("1e-999", "0"),
        ("1424953923781206.25", "1424953923781206.2"),
    ] {
        assert_eq!(canonical_text(number), text);
        assert_eq!(read(number.as_bytes(), &Bounds::default()), read(text.as_bytes(), &Bounds::default()));
    }
}

// proves: L6
#[test]
fn strings_are_read_at_every_length_and_place() {
    for len in 0..40 {
        for at in 0..=len {
            for (escape, plain) in
                [("\\n", "\\n"), ("\\u0041", "A"), ("é", "é"), ("\\u20ac", "€"), ("\u{7f}", "\u{7f}")]
            {
                let (a, b) = ("x".repeat(at), "y".repeat(len - at));
                assert_eq!(canonical_text(&format!("\"{a}{escape}{b}\"")), format!("\"{a}{plain}{b}\""));
            }
        }
    }
}

// bounds: canonical JSON
#[test]
fn size_count_and_depth_are_bounded() {
    let with = |json: &str, bounds: Bounds| {
        canonicalize(json.as_bytes(), &bounds).map_err(|error| (error.at, error.problem))
    };
    let all = Bounds::default();
    let json = "[1,{\"a\":[]}]";
    let len = json.len() as u64;
    assert!(with(json, Bounds { bytes: len + 1, ..all }).is_ok());
    assert!(with(json, Bounds { bytes: len, ..all }).is_ok());
    let problem = P::TooLarge { limit: len - 1, observed: len };
    assert_eq!(with(json, Bounds { bytes: len - 1, ..all }), Err((0, problem)));
    assert!(with(json, Bounds { values: 5, ..all }).is_ok());
    assert!(with(json, Bounds { values: 4, ..all }).is_ok());
    assert_eq!(with(json, Bounds { values: 3, ..all }), Err((8, P::TooMany { limit: 3 })));
    assert!(with(json, Bounds { depth: 4, ..all }).is_ok());
    assert!(with(json, Bounds { depth: 3, ..all }).is_ok());
    assert_eq!(with(json, Bounds { depth: 2, ..all }), Err((8, P::TooDeep { limit: 2 })));
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = |n: usize| format!("{}0{}", open.repeat(n), close.repeat(n));
        let most = Bounds { depth: usize::MAX, ..all };
        assert!(with(&deep(MAX_DEPTH - 1), most).is_ok());
        assert!(with(&deep(MAX_DEPTH), most).is_ok());
        let at = (MAX_DEPTH * open.len()) as u64;
        assert_eq!(with(&deep(MAX_DEPTH + 1), most), Err((at, P::TooDeep { limit: MAX_DEPTH })));
        assert!(with(&open.repeat(100_000), most).is_err());
    }
}

// proves: L6
#[test]
fn the_first_byte_that_is_not_canonical_is_named() {
    for (json, at) in [
        ("{\"a\":1,\"b\":2}", None),
        ("{\"a\": 1}", Some(5)),
        ("{\"b\":1,\"a\":2}", Some(2)),
        ("1.0", Some(1)),
        ("\"\\u0041\"", Some(1)),
        ("\"\\u001F\"", Some(6)),
        ("[1] ", Some(3)),
        (" 1", Some(0)),
        ("1e2", Some(1)),
    ] {
        let found = check(json.as_bytes(), &Bounds::default());
        let expected = at.map_or(Ok(()), |at| Err(CanonicalError { at, problem: P::NotCanonical }));
        assert_eq!(found, expected, "{json}");
    }
}
