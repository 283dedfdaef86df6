//! The functions and classes of a file, with the names around them. Python, JavaScript, TypeScript and Java.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use ash_model::{path::RelPath, source::SourceReader};
use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

use super::{Outline, Symbol};

/// Larger files are not parsed.
const LARGEST: u64 = 4 << 20;
/// A file that takes longer to parse was made to.
const LONGEST: Duration = Duration::from_secs(10);
/// How long a name may be: an assignment can have any text on its left.
const LONGEST_NAME: usize = 200;
/// How deep symbols may lie in each other: deeper ones keep the names of those above.
const DEEPEST: usize = 64;

pub(super) fn outline(path: &RelPath, reader: &dyn SourceReader) -> Outline {
    let language = language(path).ok_or("is in a language ash has no parser for")?;
    let source = reader.read(path, LARGEST).ok_or("cannot be read, or is too large to parse")?;
    let tree = parse(&language, &source).ok_or("takes too long to parse")?;
    Ok(symbols(&tree, &source))
}

fn language(path: &RelPath) -> Option<Language> {
    let extension = path.as_path().extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "py" | "pyi" => tree_sitter_python::LANGUAGE.into(),
        "js" | "jsx" | "mjs" | "cjs" => tree_sitter_javascript::LANGUAGE.into(),
        "ts" | "mts" | "cts" => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        "tsx" => tree_sitter_typescript::LANGUAGE_TSX.into(),
        "java" => tree_sitter_java::LANGUAGE.into(),
        _ => return None,
    })
}

fn parse(language: &Language, source: &[u8]) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    let begun = Instant::now();
    let mut in_time = |_: &tree_sitter::ParseState| {
        if begun.elapsed() < LONGEST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut in_time);
    let mut rest = |from: usize, _| source.get(from..).unwrap_or_default();
    parser.parse_with_options(&mut rest, None, Some(options))
}

/// Walks the tree without recursion: a hostile file can be nested deeper than a stack.
fn symbols(tree: &Tree, source: &[u8]) -> Vec<Symbol> {
    let mut found = Vec::new();
    let mut around: Vec<(String, usize)> = Vec::new();
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        if let Some(name) = name(node, source) {
            let name = match around.last() {
                Some((outer, _)) => format!("{outer}.{name}"),
                None => name,
            };
            found.push(Symbol {
                name: name.clone(),
                first: first_line(node),
                last: line(node.end_position()),
            });
            if around.len() < DEEPEST {
                around.push((name, depth));
            }
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            around.pop_if(|(_, at)| *at == depth);
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return found;
            }
            depth -= 1;
        }
    }
}

fn line(point: tree_sitter::Point) -> u64 {
    point.row as u64 + 1
}

/// Decorators belong to what they decorate.
fn first_line(node: Node<'_>) -> u64 {
    let decorated = node.parent().filter(|parent| parent.kind() == "decorated_definition");
    line(decorated.unwrap_or(node).start_position())
}

/// The name of a node that is a symbol.
fn name(node: Node<'_>, source: &[u8]) -> Option<String> {
    let field = match node.kind() {
        "function_definition"
        | "class_definition"
        | "function_declaration"
        | "generator_function_declaration"
        | "class_declaration"
        | "abstract_class_declaration"
        | "class"
        | "method_definition"
        | "interface_declaration"
        | "enum_declaration"
        | "internal_module"
        | "module"
        | "record_declaration"
        | "annotation_type_declaration"
        | "method_declaration"
        | "constructor_declaration"
        | "compact_constructor_declaration" => "name",
        "variable_declarator" if holds_code(node, "value") => "name",
        "public_field_definition" if holds_code(node, "value") => "name",
        "field_definition" if holds_code(node, "value") => "property",
        "pair" if holds_code(node, "value") => "key",
        "assignment_expression" if holds_code(node, "right") => "left",
        _ => return None,
    };
    let text = node.child_by_field_name(field)?.utf8_text(source).ok()?;
    let name = text.trim_matches(['"', '\'', '`']);
    (!name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(char::is_whitespace))
        .then(|| name.to_owned())
}

fn holds_code(node: Node<'_>, field: &str) -> bool {
    node.child_by_field_name(field).is_some_and(|value| {
        matches!(
            value.kind(),
            "arrow_function"
                | "function_expression"
                | "function"
                | "generator_function"
                | "class"
                | "lambda_expression"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Text(&'static str);
    impl SourceReader for Text {
        fn read(&self, _: &RelPath, _: u64) -> Option<Vec<u8>> {
            Some(self.0.as_bytes().to_vec())
        }
    }

    fn of(path: &str, text: &'static str) -> Vec<(String, u64, u64)> {
        let symbols = outline(&RelPath::new(path).unwrap(), &Text(text)).unwrap();
        symbols.into_iter().map(|symbol| (symbol.name, symbol.first, symbol.last)).collect()
    }

    fn list(expected: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
        expected.iter().map(|(name, first, last)| ((*name).to_owned(), *first, *last)).collect()
    }

    #[test]
    fn python_functions_classes_and_methods_have_qualified_names() {
        let text = "import os\n\nclass Store:\n    @cached\n    def load(self):\n        def inner():\n            pass\n        return 1\n\n    async def save(self): ...\n\ndef load():\n    pass\n";
        assert_eq!(
            of("a.py", text),
            list(&[
                ("Store", 3, 10),
                ("Store.load", 4, 8),
                ("Store.load.inner", 6, 7),
                ("Store.save", 10, 10),
                ("load", 12, 13)
            ])
        );
    }

    #[test]
    fn javascript_functions_are_named_by_what_they_are_assigned_to() {
        let text = "export function a() {\n}\nexport const b = () => {\n  const c = function () {\n  };\n};\nclass D {\n  e() {}\n  f = () => 1;\n}\nmodule.exports.g = async () => {\n};\nconst h = { i: () => 1, j() {} };\nconst k = 1;\n";
        assert_eq!(
            of("a.mjs", text),
            list(&[
                ("a", 1, 2),
                ("b", 3, 6),
                ("b.c", 4, 5),
                ("D", 7, 10),
                ("D.e", 8, 8),
                ("D.f", 9, 9),
                ("module.exports.g", 11, 12),
                ("i", 13, 13),
                ("j", 13, 13)
            ])
        );
    }

    #[test]
    fn typescript_has_namespaces_interfaces_and_jsx_too() {
        let text = "namespace N {\n  export abstract class A<T> {\n    private m(x: T): void {}\n    f = (): number => 1;\n  }\n}\ninterface I { x: number }\n";
        assert_eq!(
            of("a.ts", text),
            list(&[("N", 1, 6), ("N.A", 2, 5), ("N.A.m", 3, 3), ("N.A.f", 4, 4), ("I", 7, 7)])
        );
        assert_eq!(of("a.tsx", "const C = () => <b>x</b>;\n"), list(&[("C", 1, 1)]));
    }

    #[test]
    fn java_classes_records_methods_and_constructors_have_names() {
        let text = "package p;\nclass A {\n  A() {}\n  @Override\n  public String m(int x) {\n    return \"\";\n  }\n  enum E { X }\n}\nrecord R(int x) { R { } }\n";
        assert_eq!(
            of("A.java", text),
            list(&[
                ("A", 2, 9),
                ("A.A", 3, 3),
                ("A.m", 4, 7),
                ("A.E", 8, 8),
                ("R", 10, 10),
                ("R.R", 10, 10)
            ])
        );
    }

    #[test]
    fn broken_and_hostile_files_end() {
        assert!(of("a.py", "def f(:\n  x\nclass \u{0}(((\n").len() < 5);
        let deep: &'static str = Box::leak(("(".repeat(200_000) + "\n").into_boxed_str());
        of("a.py", deep);
        let nested: &'static str = Box::leak(
            (0..3_000).map(|n| format!("function f{n}(){{")).collect::<String>().into_boxed_str(),
        );
        assert!(of("a.js", nested).iter().all(|(name, ..)| name.len() < 1_000));
        assert!(outline(&RelPath::new("a.rb").unwrap(), &Text("")).is_err());
    }
}
