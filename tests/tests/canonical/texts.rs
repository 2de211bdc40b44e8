//! JSON texts that are drawn from a seed: one value, spelled in many ways; and texts that were damaged.

use runloom::testing::Random;

/// A value, in no particular spelling. Names of an object are unique.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Word(&'static str),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

const WORDS: [&str; 3] = ["null", "true", "false"];
const LETTERS: [&str; 16] = [
    "a",
    "b",
    "z",
    "A",
    "\"",
    "\\",
    "/",
    "\n",
    "\u{0}",
    "\u{1f}",
    "é",
    "€",
    "\u{e000}",
    "\u{ffff}",
    "😀",
    "\u{10ffff}",
];

fn string(random: &mut Random) -> String {
    let len = if random.chance(10) { 40 } else { 5 };
    (0..random.below(len)).map(|_| *random.pick(&LETTERS)).collect()
}

fn number(random: &mut Random) -> f64 {
    let sign = if random.chance(30) { -1.0 } else { 1.0 };
    sign * match random.below(5) {
        0 => random.below(20) as f64,
        1 => random.below(1 << 53) as f64,
        2 => random.below(100_000) as f64 / 1_000.0,
        3 => {
            [0.0, 1e21, 1e20, 1e-6, 1e-7, 5e-324, f64::MAX, 9_007_199_254_740_992.0][random.below(8) as usize]
        }
        _ => Some(f64::from_bits(random.draw())).filter(|n| n.is_finite()).unwrap_or(0.5).abs(),
    }
}

/// A value that nests at most `depth` deep.
pub(crate) fn value(random: &mut Random, depth: u32) -> Json {
    match random.below(if depth == 0 { 3 } else { 6 }) {
        0 => Json::Word(random.pick::<&str>(&WORDS)),
        1 => Json::Number(number(random)),
        2 => Json::Text(string(random)),
        3 => Json::List((0..random.below(5)).map(|_| value(random, depth - 1)).collect()),
        _ => {
            let mut members: Vec<(String, Json)> = Vec::new();
            for _ in 0..random.below(7) {
                let name = string(random);
                if members.iter().all(|(other, _)| *other != name) {
                    members.push((name, value(random, depth - 1)));
                }
            }
            Json::Object(members)
        }
    }
}

/// Writes `json` in a spelling that is drawn: order of members, white space, escapes, form of numbers.
pub(crate) fn spell(json: &Json, random: &mut Random) -> String {
    let mut out = String::new();
    write(json, random, &mut out);
    space(random, &mut out);
    out
}

fn space(random: &mut Random, out: &mut String) {
    while random.chance(15) {
        out.push_str(random.pick::<&str>(&[" ", "\n", "\r", "\t"]));
    }
}

fn write(json: &Json, random: &mut Random, out: &mut String) {
    space(random, out);
    match json {
        Json::Word(word) => out.push_str(word),
        Json::Number(n) => out.push_str(&spell_number(*n, random)),
        Json::Text(text) => write_text(text, random, out),
        Json::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, random, out);
                space(random, out);
            }
            space(random, out);
            out.push(']');
        }
        Json::Object(members) => {
            let mut order: Vec<usize> = (0..members.len()).collect();
            (1..order.len()).for_each(|at| order.swap(at, random.below(at as u64 + 1) as usize));
            out.push('{');
            for (at, member) in order.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                space(random, out);
                write_text(&members[member].0, random, out);
                space(random, out);
                out.push(':');
                write(&members[member].1, random, out);
                space(random, out);
            }
            space(random, out);
            out.push('}');
        }
    }
}

fn spell_number(n: f64, random: &mut Random) -> String {
    let short = format!("{n:e}");
    match random.below(5) {
        0 => short,
        1 => short.to_uppercase(),
        2 if short.contains("e-") => short.replace("e-", "e-00"),
        2 => short.replace('e', "e+0"),
        3 => format!("{n:.1080}"),
        _ => format!("{n}"),
    }
}

fn write_text(text: &str, random: &mut Random, out: &mut String) {
    let style = random.below(3);
    out.push('"');
    for c in text.chars() {
        let escape = style == 1 || (style == 2 && random.chance(30)) || c < ' ';
        match c {
            '"' | '\\' if !random.chance(20) => out.extend(['\\', c]),
            '/' if escape => out.push_str("\\/"),
            '\n' if !random.chance(20) => out.push_str("\\n"),
            _ if escape || matches!(c, '"' | '\\') => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let digits = format!("{unit:04x}");
                    let digits = if random.chance(50) { digits.to_uppercase() } else { digits };
                    out.push_str(&format!("\\u{digits}"));
                }
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Changes a few bytes.
pub(crate) fn damage(text: &str, random: &mut Random) -> Vec<u8> {
    const BYTES: &[u8] = b"{}[],:\"\\0123456789-+.eEtrufalsn \n\x00\x1f\x7f\xc3\xa9\xff\xed\xa0\x80";
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        let to = (at + random.below(6) as usize).min(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..to)),
            2 => bytes.insert(at, *random.pick(BYTES)),
            3 => {
                let copy = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, copy));
            }
            4 => drop(bytes.splice(at..at, random.pick::<&str>(&["\\ud800", "1e9999"]).bytes())),
            5 => {
                let inside = bytes.iter().position(|byte| *byte == b'{').map_or(at, |brace| brace + 1);
                drop(bytes.splice(inside..inside, *b"\"a\":1,\"\\u0061\":2,"));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = *random.pick(BYTES);
                }
            }
        }
    }
    bytes
}
