//! The language of conditions, and that nothing that is typed makes its reader panic.

#![expect(clippy::unwrap_used, reason = "a condition that cannot be read is a failure of the test")]

use proptest::prelude::*;

use super::expr::{Expr, Field, Op, Operand, ScoreKind};
use super::parse::condition;
use super::{Condition, Watched};

fn error(text: &str) -> String {
    Condition::parse(text).unwrap_err().to_string()
}

fn compare(left: Operand, op: Op, right: Operand) -> Expr {
    Expr::Compare { left, op, right }
}

fn text(text: &str) -> Operand {
    Operand::Text(text.to_owned())
}

#[test]
fn conditions_read_as_a_person_guesses_them() {
    let node = || compare(Operand::Field(Field::Node), Op::Equal, text("n1"));
    assert_eq!(condition("node == n1").unwrap(), node());
    assert_eq!(condition("node=n1").unwrap(), node());
    assert_eq!(condition("node == \"n1\"").unwrap(), node());
    assert_eq!(condition("((node == 'n1'))").unwrap(), node());
    assert_eq!(condition("preemption").unwrap(), Expr::Is(Operand::Field(Field::Preemption)));
    assert_eq!(
        condition("score(NodeResourcesBalancedAllocation) > 80").unwrap(),
        compare(
            Operand::Score(ScoreKind::Normalized, "NodeResourcesBalancedAllocation".to_owned()),
            Op::Greater,
            Operand::Number(80)
        )
    );
    assert_eq!(
        condition("chosen != last").unwrap(),
        compare(Operand::Field(Field::Chosen), Op::NotEqual, Operand::Field(Field::Last))
    );
    assert_eq!(
        condition("label(app.kubernetes.io/name) ~ web*").unwrap(),
        compare(Operand::Label("app.kubernetes.io/name".to_owned()), Op::Like, text("web*"))
    );
    assert_eq!(
        condition("waited > 90").unwrap(),
        compare(Operand::Field(Field::Waited), Op::Greater, Operand::Millis(90_000))
    );
    assert_eq!(
        condition("waited > 2m").unwrap(),
        compare(Operand::Field(Field::Waited), Op::Greater, Operand::Millis(120_000))
    );
    assert_eq!(
        condition("event == Node/Update").unwrap(),
        compare(Operand::Field(Field::Event), Op::Equal, text("Node/Update"))
    );
    // A name that looks like a number is a name.
    assert_eq!(condition("node == 17").unwrap(), compare(Operand::Field(Field::Node), Op::Equal, text("17")));
}

#[test]
fn and_binds_closer_than_or_and_not_closest() {
    let all = ["a", "b", "c"].map(|name| compare(Operand::Field(Field::Node), Op::Equal, text(name)));
    let [a, b, c] = all.map(Box::new);
    let expected = Expr::Or(Box::new(Expr::Not(a)), Box::new(Expr::And(b, c)));
    assert_eq!(condition("!(node == a) || node == b && node == c").unwrap(), expected);
    assert_eq!(condition("not node == a or node == b and node == c").unwrap(), expected);
}

#[test]
fn codes_points_and_outcomes_are_checked_and_spelled_in_any_case() {
    assert_eq!(
        condition("code == unschedulable").unwrap(),
        compare(Operand::Field(Field::Code), Op::Equal, text("Unschedulable"))
    );
    assert_eq!(
        condition("phase == prefilter").unwrap(),
        compare(Operand::Field(Field::Point), Op::Equal, text("PreFilter"))
    );
    assert!(error("code == Unscheduleable").ends_with("\"Unscheduleable\" is none of Success, Error, Unschedulable, UnschedulableAndUnresolvable, Wait, Skip, Pending"));
    assert!(error("outcome == Gone").contains("is none of Bound"));
}

#[test]
fn an_error_shows_where() {
    assert_eq!(
        error("node == n1 && nod == 2"),
        "node == n1 && nod == 2\n              ^^^\n\"nod\" is no field; did you mean node?"
    );
    assert_eq!(error("node =="), "node ==\n       ^\na value is missing here");
    assert_eq!(error("(node == a"), "(node == a\n          ^\na closing parenthesis is missing");
    assert_eq!(
        error("node == a node == b"),
        "node == a node == b\n          ^^^^\n&& or || is missing before this"
    );
    assert_eq!(error("node > a"), "node > a\n     ^\nnode is compared by == or ~");
    assert_eq!(error("attempts ~ 3"), "attempts ~ 3\n         ^\nattempts is compared by ==, < or >");
    assert_eq!(error("attempts >= many"), "attempts >= many\n            ^^^^\nattempts is a number");
    assert_eq!(error("pod ~ \"shop"), "pod ~ \"shop\n      ^^^^^\nthis text has no end");
    assert!(error("node == {a}").contains("put names with it in quotes"));
    assert!(error("").contains("there is no condition"));
    assert!(error("score > 3").contains("write score(PLUGIN)"));
    assert!(error(&"!".repeat(200)).contains("nested too deep"));
    assert!(error(&"(".repeat(200)).contains("nested too deep"));
}

#[test]
fn every_field_can_be_named_and_watched() {
    for field in Field::ALL {
        assert_eq!(Field::named(field.name()), Some(*field));
        assert_eq!(Watched::parse(field.name()).unwrap().text(), field.name());
        assert!(!field.meaning().is_empty());
    }
    Watched::parse("score(NodeResourcesFit)").unwrap();
    Watched::parse("pod ~ web && attempts > 2").unwrap();
    assert!(Watched::parse("nothing").is_err());
}

proptest! {
    #[test]
    fn whatever_is_typed_is_a_condition_or_an_error_with_a_place(typed in ".{0,60}") {
        if let Err(error) = Condition::parse(&typed) {
            prop_assert!(typed.is_char_boundary(error.at.start) && error.at.end <= typed.len());
            prop_assert!(!error.to_string().is_empty());
        }
        let _ = Watched::parse(&typed);
    }

    #[test]
    fn whatever_is_made_of_its_words_is_a_condition_or_an_error(
        words in proptest::collection::vec(proptest::sample::select(vec![
            "node", "pod", "score", "label", "(", ")", "==", "!=", "~", ">", "&&", "||", "!", "not", "3", "5s", "\"a b\"",
            "shop/*", "code", "Unschedulable", "chosen", "last", "true",
        ]), 0..24)
    ) {
        let typed = words.join(" ");
        if let Err(error) = Condition::parse(&typed) {
            prop_assert!(error.column() <= typed.chars().count());
        }
    }
}
