use super::*;
use serde_json::json;

fn patch(value: Value) -> alloc::vec::Vec<Operation> {
    let text = alloc::format!("{value}");
    crate::agui::wire::decode(&text).unwrap().value.unwrap()
}

#[track_caller]
fn gives(document: Value, operations: Value, expected: Value) {
    let mut result = document;
    apply(&mut result, &patch(operations), &mut Budget::default()).unwrap();
    assert_eq!(result, expected);
}

#[track_caller]
fn refuses(document: Value, operations: Value, index: usize, why: PatchFault) {
    let (mut result, mut budget) = (document.clone(), Budget::default());
    let error = apply(&mut result, &patch(operations), &mut budget).unwrap_err();
    assert_eq!((error.index, error.why), (index, why));
    assert_eq!((result, budget), (document, Budget::default()));
}

// proves: V11
#[test]
fn each_operation_does_what_its_name_says() {
    gives(json!({"a": 1}), json!([{"op": "add", "path": "/b", "value": null}]), json!({"a": 1, "b": null}));
    gives(json!([1, 3]), json!([{"op": "add", "path": "/1", "value": 2}]), json!([1, 2, 3]));
    gives(json!([1]), json!([{"op": "add", "path": "/-", "value": 2}]), json!([1, 2]));
    gives(json!({"a": 1}), json!([{"op": "add", "path": "", "value": 7}]), json!(7));
    gives(json!({"a": 1, "b": 2}), json!([{"op": "remove", "path": "/a"}]), json!({"b": 2}));
    gives(json!({"a": [1, 2]}), json!([{"op": "replace", "path": "/a/0", "value": 9}]), json!({"a": [9, 2]}));
    let moved = json!([{"op": "move", "from": "/a/b", "path": "/c"}]);
    gives(json!({"a": {"b": 1}}), moved, json!({"a": {}, "c": 1}));
    gives(json!([1, 2, 3]), json!([{"op": "move", "from": "/0", "path": "/2"}]), json!([2, 3, 1]));
    gives(json!({"a": 1}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"a": 1, "b": 1}));
    let test = json!([{"op": "test", "path": "/a~1b/~0", "value": 1.0}]);
    gives(json!({"a/b": {"~": 1}}), test, json!({"a/b": {"~": 1}}));
    gives(json!({"": 1}), json!([{"op": "replace", "path": "/", "value": 2}]), json!({"": 2}));
    gives(json!({"~1": 1}), json!([{"op": "remove", "path": "/~01"}]), json!({}));
}

// proves: V11
#[test]
fn what_does_not_apply_changes_nothing() {
    use PatchFault::*;
    let first = json!({"op": "add", "path": "/x", "value": 1});
    let cases = [
        (json!({"op": "remove", "path": "/no"}), NoSuchPlace),
        (json!({"op": "replace", "path": "/no", "value": 1}), NoSuchPlace),
        (json!({"op": "add", "path": "/no/a", "value": 1}), NoSuchPlace),
        (json!({"op": "add", "path": "/list/3", "value": 1}), NoSuchPlace),
        (json!({"op": "add", "path": "/list/01", "value": 1}), NoSuchPlace),
        (json!({"op": "add", "path": "/list/a", "value": 1}), NoSuchPlace),
        (json!({"op": "remove", "path": "/list/-"}), NoSuchPlace),
        (json!({"op": "test", "path": "/a", "value": "1"}), TestFailed),
        (json!({"op": "test", "path": "/n", "value": 9_007_199_254_740_992_u64}), TestFailed),
        (json!({"op": "move", "from": "/list", "path": "/list/0"}), IntoItself),
        (json!({"op": "move", "from": "/list/0", "path": "/no/a"}), NoSuchPlace),
        (json!({"op": "copy", "from": "/no", "path": "/a"}), NoSuchPlace),
    ];
    for (case, why) in cases {
        refuses(
            json!({"a": 1, "n": 9_007_199_254_740_993_u64, "list": [1, 2]}),
            json!([first, case]),
            1,
            why,
        );
    }
}

// proves: V11
#[test]
fn a_failed_patch_is_taken_back_from_every_operation() {
    let document = json!({"a": [1, 2, 3], "b": {"c": true}, "d": "x"});
    let fails = json!({"op": "test", "path": "/none", "value": 0});
    let before = [
        json!({"op": "add", "path": "/a/-", "value": 4}),
        json!({"op": "add", "path": "/a/0", "value": 0}),
        json!({"op": "add", "path": "/d", "value": {}}),
        json!({"op": "remove", "path": "/a/1"}),
        json!({"op": "remove", "path": "/b"}),
        json!({"op": "replace", "path": "/d", "value": []}),
        json!({"op": "move", "from": "/a/0", "path": "/a/2"}),
        json!({"op": "move", "from": "/b/c", "path": "/d"}),
        json!({"op": "copy", "from": "/a", "path": "/b/a"}),
        json!({"op": "replace", "path": "", "value": 1}),
        json!({"op": "remove", "path": ""}),
        json!({"op": "move", "from": "/a", "path": ""}),
    ];
    for first in &before {
        refuses(document.clone(), json!([first, fails]), 1, PatchFault::NoSuchPlace);
        for second in &before {
            let mut result = document.clone();
            let both = patch(json!([first, second, fails]));
            let error = apply(&mut result, &both, &mut Budget::default());
            assert!(error.is_err());
            assert_eq!(result, document, "{first} {second}");
        }
    }
}

// bounds: AG-UI state
#[test]
fn growth_is_bounded() {
    let document = json!({"a": "text"});
    let more = weight(&json!("text")) + 33;
    for (left, fits) in [(more - 1, false), (more, true), (more + 1, true)] {
        let (mut result, mut budget) = (document.clone(), Budget { left });
        let copy = patch(json!([{"op": "copy", "from": "/a", "path": "/b"}]));
        assert_eq!(apply(&mut result, &copy, &mut budget).is_ok(), fits, "{left}");
        assert_eq!(budget.left, if fits { left - more } else { left });
    }
    // A document that is copied into itself doubles each time.
    let copy = |n| Act::Copy { from: String::new(), path: alloc::format!("/{n}") };
    let bomb: alloc::vec::Vec<_> = (0..64).map(|n| Operation::from(copy(n))).collect();
    let mut result = json!({});
    let error = apply(&mut result, &bomb, &mut Budget::default()).unwrap_err();
    assert_eq!((error.why, result), (PatchFault::TooLarge, json!({})));
}

#[test]
fn depth_is_bounded() {
    let add = |path: &str, value| [Operation::from(Act::Add { path: path.into(), value })];
    let mut deep = json!(0);
    let mut path = String::new();
    for _ in 0..125 {
        path.push_str("/0");
        deep = json!([deep]);
    }
    // 125 arrays around a place of depth 126.
    let budget = || Budget::default();
    assert_eq!(apply(&mut deep.clone(), &add(&path, json!([])), &mut budget()), Ok(()));
    assert_eq!(apply(&mut deep.clone(), &add(&path, json!([1])), &mut budget()), Ok(()));
    let error = apply(&mut deep, &add(&path, json!([[1]])), &mut budget()).unwrap_err();
    assert_eq!(error.why, PatchFault::TooLarge);
}
