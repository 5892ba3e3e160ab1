//! A function that is linear between given points.
//!
//! Follows `helper/shape_score.go`.

/// A point of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionShapePoint {
    /// The argument.
    pub utilization: i64,
    /// The value.
    pub score: i64,
}

/// The value at `utilization` of the function through `shape`, whose points stand in the order of their
/// arguments: constant outside them, linear with integer division between them; 0 without points.
pub fn broken_linear(shape: &[FunctionShapePoint], utilization: i64) -> i64 {
    let next = shape.iter().position(|point| utilization <= point.utilization);
    match next {
        None => shape.last().map_or(0, |point| point.score),
        Some(0) => shape[0].score,
        Some(i) => {
            let (from, to) = (shape[i - 1], shape[i]);
            from.score
                + (to.score - from.score) * (utilization - from.utilization)
                    / (to.utilization - from.utilization)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Upstream's own table for `{10, 1}, {90, 9}`-like shapes.
    #[test]
    fn values_between_and_outside_the_points() {
        let shape = [(0, 2), (40, 41), (100, 1)]
            .map(|(utilization, score)| FunctionShapePoint { utilization, score });
        for (argument, value) in
            [(-10, 2), (0, 2), (20, 21), (30, 31), (40, 41), (70, 21), (100, 1), (110, 1)]
        {
            assert_eq!(broken_linear(&shape, argument), value, "at {argument}");
        }
        let two = [(1, 0), (6, 60)].map(|(utilization, score)| FunctionShapePoint { utilization, score });
        for (argument, value) in [(-10, 0), (1, 0), (2, 12), (5, 48), (6, 60), (10, 60)] {
            assert_eq!(broken_linear(&two, argument), value, "at {argument}");
        }
    }
}
