//! The renderer's modules as one script.

/// The modules, each behind those that it imports.
const MODULES: [(&str, &str); 10] = [
    ("words", include_str!("../../../wasm/www/timeline/words.js")),
    ("pressure", include_str!("../../../wasm/www/timeline/pressure.js")),
    ("rules", include_str!("../../../wasm/www/timeline/rules.js")),
    ("model", include_str!("../../../wasm/www/timeline/model.js")),
    ("summary", include_str!("../../../wasm/www/timeline/summary.js")),
    ("dom", include_str!("../../../wasm/www/timeline/dom.js")),
    ("chart", include_str!("../../../wasm/www/timeline/chart.js")),
    ("keys", include_str!("../../../wasm/www/timeline/keys.js")),
    ("details", include_str!("../../../wasm/www/timeline/details.js")),
    ("timeline", include_str!("../../../wasm/www/timeline/timeline.js")),
];

/// What the page does with the renderer.
const MAIN: &str = "const run = timeline.createTimeline(document.getElementById('timeline'));
for (const event of JSON.parse(document.getElementById('events').textContent)) run.append(event);
run.finish();
";

/// One script that holds every module in a scope of its own.
pub(super) fn bundle() -> String {
    let mut script = String::from("\n");
    for (name, text) in MODULES {
        let (body, exports) = scope(text);
        script.push_str(&format!(
            "const {name} = (() => {{\n{body}return {{ {} }};\n}})();\n",
            exports.join(", ")
        ));
    }
    script + MAIN
}

/// A module's text without imports and exports, and the names that it exports. Imports stand on one line each, with
/// names in braces; only declarations are exported.
fn scope(text: &str) -> (String, Vec<&str>) {
    let (mut body, mut exports) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some((names, from)) =
            line.strip_prefix("import ").and_then(|rest| rest.split_once(" from './"))
        {
            body.push_str(&format!("const {names} = {};\n", from.trim_end_matches(".js';")));
            continue;
        }
        let declared = line.strip_prefix("export ");
        if let Some(name) = declared.and_then(|rest| rest.split(' ').nth(1)) {
            exports.push(name.split(['(', ' ']).next().unwrap_or(name));
        }
        body.push_str(declared.unwrap_or(line));
        body.push('\n');
    }
    (body, exports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_become_scopes() {
        let text = "import { a, b } from './other.js';\nexport const C = 1;\nexport function d(e) {\n}\nexport class F {\n}\n";
        let (body, exports) = scope(text);
        assert_eq!(body, "const { a, b } = other;\nconst C = 1;\nfunction d(e) {\n}\nclass F {\n}\n");
        assert_eq!(exports, ["C", "d", "F"]);
    }

    #[test]
    fn a_module_stands_behind_what_it_imports() {
        let script = bundle();
        assert!(!script.contains("\nimport ") && !script.contains("\nexport ") && !script.contains("</"));
        for (n, (name, text)) in MODULES.iter().enumerate() {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let imported =
                    MODULES.iter().position(|(other, _)| line.ends_with(&format!(" from './{other}.js';")));
                assert!(imported.is_some_and(|at| at < n), "{name}: {line}");
            }
        }
    }
}
