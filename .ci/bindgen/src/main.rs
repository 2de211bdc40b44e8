//! Writes the JavaScript half of a module that was built with wasm-bindgen: `runloom-bindgen IN.wasm FOLDER`, for Node.
//! The library behind it is what the command of that name uses; so no command needs to be installed.

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else { return Err("usage: runloom-bindgen IN.wasm FOLDER".into()) };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).typescript(false).nodejs(true)?;
    Ok(bindgen.generate(folder)?)
}
