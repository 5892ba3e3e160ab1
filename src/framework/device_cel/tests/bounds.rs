//! What an expression may ask for, and that it ends. The answers are upstream's where upstream has one in time.

use crate::framework::device_cel::{Device, DeviceSelector, Features};

fn ask(expression: &str) -> Result<bool, String> {
    let selector =
        DeviceSelector::compile(expression, Features::default()).map_err(|error| error.to_string())?;
    selector.matches(&Device::new("d", [], [], None)).map_err(|error| error.to_string())
}

fn nested(open: &str, inner: &str, close: &str, levels: usize) -> String {
    format!("{}{inner}{}", open.repeat(levels), close.repeat(levels))
}

const LIMIT: &str = "operation cancelled: actual cost limit exceeded";

#[test]
fn nesting_ends_at_250_levels() {
    let too_deep = "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    assert_eq!(ask(&nested("(", "true", ")", 249)), Ok(true));
    assert_eq!(ask(&nested("(", "true", ")", 251)), Err(too_deep.to_owned()));
    let sum = |terms: usize| format!("1{} == {terms}", "+1".repeat(terms - 1));
    assert_eq!(ask(&sum(250)), Ok(true));
    let deep = "compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded";
    assert_eq!(ask(&sum(251)), Err(deep.to_owned()));
}

#[test]
fn logical_chains_may_be_long() {
    assert_eq!(ask(&format!("true{}", " && true".repeat(3000))), Ok(true));
    assert_eq!(ask(&format!("false{}", " || false".repeat(3000))), Ok(false));
}

#[test]
fn the_text_may_have_100_000_characters() {
    let text = format!("\"{}\" == \"\"", "x".repeat(99_994));
    assert_eq!(ask(&format!("{text} ")), Err("compilation failed: ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100003, limit 100000".to_owned()));
    assert_eq!(ask(&format!("\"{}\" == \"\"", "x".repeat(99_990))), Ok(false));
}

#[test]
fn nested_folds_run_into_the_cost_limit() {
    let ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let folds: String = (0..7).map(|level| format!("{ten}.all(x{level}, ")).collect();
    let expression = format!("{folds}int('1'.find('[0-9]*')) < 100{}", ")".repeat(7));
    assert_eq!(ask(&expression), Err(LIMIT.to_owned()));
}

#[test]
fn values_that_double_again_and_again_end_the_evaluation() {
    let doubling = |step: fn(usize) -> String, levels: usize, end: &str| {
        let binds: String =
            (1..=levels).map(|level| format!("cel.bind(a{level}, {}, ", step(level - 1))).collect();
        format!("cel.bind(a0, [1, 2], {binds}{end}{})", ")".repeat(levels))
    };
    let joined = |of: usize| format!("a{of} + a{of}");
    let nested = |of: usize| format!("[a{of}, a{of}]");
    for end in ["a40.sum() > 1", "a40.exists(x, x == 3)", "3 in a40", "a40 == a40", "a40 != a40"] {
        assert_eq!(ask(&doubling(joined, 40, end)), Err(LIMIT.to_owned()), "{end}");
    }
    for end in ["a40 == a40", "a40.flatten(99).size() > 1", "a40.indexOf(a39) == 1"] {
        assert_eq!(ask(&doubling(nested, 40, end)), Err(LIMIT.to_owned()), "{end}");
    }
}

#[test]
fn long_lists_and_texts_end_the_evaluation() {
    for expression in [
        "lists.range(1000000000).size() > 1",
        "lists.range(300000).distinct() == []",
        "sets.contains(lists.range(90000), lists.range(90000))",
        r#"cel.bind(s, lists.range(90000).map(x, "a").join(""), s.replace("", s).size() > 1)"#,
    ] {
        assert_eq!(ask(expression), Err(LIMIT.to_owned()), "{expression}");
    }
}

#[test]
fn macros_that_double_what_they_are_called_on_are_refused_in_the_end() {
    let expression = format!("optional.of(1){}.hasValue()", ".optMap(x, x + 1)".repeat(100));
    assert!(ask(&expression).unwrap_err().contains("expression expands to too many nodes"));
    assert_eq!(ask(&format!("optional.of(1){}.hasValue()", ".optMap(x, x + 1)".repeat(8))), Ok(true));
}

#[test]
fn deep_nesting_needs_no_deep_stack() {
    // Threads of tests have 2 MiB, which this would not fit into.
    assert_eq!(ask(&format!("{} == []", nested("[", "", "]", 245))), Ok(false));
    assert_eq!(ask(&nested("(true ? ", "true", " : false)", 240)), Ok(true));
    assert_eq!(ask(&nested("[1].exists(x, ", "true", ")", 240)), Ok(true));
    assert_eq!(ask(&nested("cel.bind(a, [1], ", "a == [1]", ")", 240)), Ok(true));
    assert_eq!(ask(&format!("dyn([1]){} == 1", "[dyn(0)]".repeat(200))), Err("no such key: 0".to_owned()));
}
