//! No text of an expression makes the program panic or hang.

use proptest::prelude::*;

use crate::framework::device_cel::{Attribute, Device, DeviceSelector, Features};

fn device() -> Device {
    let attributes = [
        ("a", Attribute::Int(3)),
        ("b", Attribute::Bool(true)),
        ("s", Attribute::String("m1".into())),
        ("v", Attribute::Version("1.2.3".into())),
        ("l", Attribute::Strings(vec!["x".into(), "y".into()])),
    ];
    Device::new("d", attributes, [("c", crate::api::Quantity::from_value(8))], Some(true))
}

fn ask(expression: &str) {
    for list_type_attributes in [false, true] {
        let features = Features { list_type_attributes, ..Features::default() };
        if let Ok(selector) = DeviceSelector::compile(expression, features) {
            let _ = selector.matches(&device());
        }
    }
}

/// Expressions that mostly can be read, over values of all types.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "device.driver",
        "device.attributes",
        "device.capacity",
        "device.attributes['d'].a",
        "device.attributes['d'].s",
        "device.attributes['d'].v",
        "device.attributes['d'].l",
        "device.attributes['d'].?n",
        "device.capacity['d'].c",
        "device",
        "1",
        "-1",
        "0",
        "7u",
        "1.5",
        "9223372036854775807",
        "true",
        "false",
        "null",
        "\"\"",
        "\"a\"",
        "\"1h\"",
        "\"日本\"",
        "b\"a\"",
        "[]",
        "[1, 2]",
        "{}",
        "{\"a\": 1}",
        "quantity(\"1Gi\")",
        "semver(\"1.0.0\")",
        "ip(\"10.0.0.1\")",
        "cidr(\"10.0.0.0/8\")",
        "duration(\"1h\")",
        "timestamp(0)",
        "optional.none()",
        "url(\"http://a/b\")",
        "format.uuid()",
        "int",
        "\"[a\"",
        "\"%s%d\"",
    ])
    .prop_map(|leaf| format!("dyn({leaf})"));
    let names = prop::sample::select(vec![
        "size",
        "sum",
        "min",
        "max",
        "isSorted",
        "sort",
        "distinct",
        "reverse",
        "flatten",
        "first",
        "last",
        "value",
        "hasValue",
        "unwrapOpt",
        "lowerAscii",
        "trim",
        "join",
        "major",
        "asInteger",
        "sign",
        "getHours",
        "family",
        "masked",
        "getQuery",
        "getPort",
    ]);
    let two = prop::sample::select(vec![
        "contains",
        "startsWith",
        "matches",
        "find",
        "findAll",
        "split",
        "charAt",
        "substring",
        "indexOf",
        "lastIndexOf",
        "format",
        "join",
        "add",
        "sub",
        "compareTo",
        "isGreaterThan",
        "or",
        "orValue",
        "includes",
        "containsIP",
        "containsCIDR",
        "validate",
        "flatten",
        "getHours",
    ]);
    let global = prop::sample::select(vec![
        "int",
        "uint",
        "double",
        "string",
        "bool",
        "bytes",
        "duration",
        "timestamp",
        "type",
        "quantity",
        "semver",
        "ip",
        "cidr",
        "url",
        "isIP",
        "lists.range",
        "strings.quote",
        "optional.of",
        "!",
        "-",
        "format.named",
    ]);
    let operator = prop::sample::select(vec![
        "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||",
    ]);
    let fold = prop::sample::select(vec!["all", "exists", "exists_one", "map", "filter", "sortBy", "optMap"]);
    leaf.prop_recursive(5, 40, 3, move |inner| {
        prop_oneof![
            (inner.clone(), operator.clone(), inner.clone())
                .prop_map(|(a, o, b)| format!("dyn({a} {o} {b})")),
            (inner.clone(), names.clone()).prop_map(|(a, n)| format!("dyn({a}.{n}())")),
            (inner.clone(), two.clone(), inner.clone()).prop_map(|(a, n, b)| format!("dyn({a}.{n}({b}))")),
            (global.clone(), inner.clone()).prop_map(|(n, a)| format!("dyn({n}({a}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[?{b}]")),
            (inner.clone(), fold.clone(), inner.clone())
                .prop_map(|(a, n, b)| format!("{a}.{n}(x, {b} == x)")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("dyn({a} ? {b} : {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("cel.bind(y, {a}, [y, {b}])")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{{a}: {b}}}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in ".{0,60}") {
        ask(&text);
    }

    #[test]
    fn any_mix_of_tokens_is_answered(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "device", ".driver", "a", "in", "true", "null", "1", "0x", "1.5", "2u", "\"s\"", "'", "\"", "r'\\d'",
                "b'x'", "\"\"\"", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*", "/", "%", "==",
                "=", "&&", "|", "<", "has(", ".all(x,", ".map(", "cel.bind(", " ", "\n", "//", "`", "é", "日", "\\", "if",
            ]),
            0..14,
        ),
    ) {
        ask(&tokens.concat());
    }

    #[test]
    fn any_expression_is_answered(expression in expression()) {
        ask(&format!("{expression} == {expression}"));
        ask(&format!("{expression} == 1 || {expression} == 2"));
    }

    #[test]
    fn any_pattern_is_answered(pattern in "[\\[\\](){}*+?|^$.\\\\a-cdwsbBQEpPx0-9:,=!<>-]{0,12}") {
        let literal = pattern.replace('\\', "\\\\");
        ask(&format!("\"abc 12\".matches(\"{literal}\" + \"\")"));
        ask(&format!("\"abc 12\".find(\"{literal}\") == \"\""));
    }
}
