//! What a condition is made of.

use std::fmt;

/// A condition. What is not known of a moment makes a comparison neither true nor false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// Not that.
    Not(Box<Self>),
    /// Both.
    And(Box<Self>, Box<Self>),
    /// One of the two.
    Or(Box<Self>, Box<Self>),
    /// Two values compared.
    Compare {
        /// A field.
        left: Operand,
        /// How.
        op: Op,
        /// A field or a literal.
        right: Operand,
    },
    /// A field by itself: it is known, and not false, zero or empty.
    Is(Operand),
}

impl Expr {
    /// Calls `visit` with every field that the condition names, in order.
    pub fn fields(&self, visit: &mut impl FnMut(&Operand)) {
        match self {
            Self::Not(inner) => inner.fields(visit),
            Self::And(left, right) | Self::Or(left, right) => {
                left.fields(visit);
                right.fields(visit);
            }
            Self::Compare { left, right, .. } => [left, right].into_iter().for_each(visit),
            Self::Is(operand) => visit(operand),
        }
    }
}

impl Expr {
    /// The names of plugins that it is about.
    pub fn plugins(&self) -> Vec<&str> {
        match self {
            Self::Not(inner) => inner.plugins(),
            Self::And(left, right) | Self::Or(left, right) => [left.plugins(), right.plugins()].concat(),
            Self::Compare {
                left: Operand::Field(Field::Plugin),
                op: Op::Equal | Op::NotEqual,
                right: Operand::Text(name),
            } => vec![name],
            Self::Compare { left, right, .. } => left.plugin().into_iter().chain(right.plugin()).collect(),
            Self::Is(operand) => operand.plugin().into_iter().collect(),
        }
    }
}

impl Operand {
    /// The plugin whose score it is.
    pub fn plugin(&self) -> Option<&str> {
        match self {
            Self::Score(_, plugin) => Some(plugin),
            _ => None,
        }
    }
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `==`, or `=`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `~`: a pattern with `*` and `?`, or a part.
    Like,
    /// `!~`.
    NotLike,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

/// A value of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A field of the moment.
    Field(Field),
    /// A label of the pod: `label(KEY)`.
    Label(String),
    /// What a plugin gave a node: `score(PLUGIN)` and its sisters.
    Score(ScoreKind, String),
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// A duration, in milliseconds.
    Millis(i64),
    /// `true` or `false`.
    Flag(bool),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(field) => f.write_str(field.name()),
            Self::Label(key) => write!(f, "label({key})"),
            Self::Score(kind, plugin) => write!(f, "{}({plugin})", kind.name()),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Millis(millis) => write!(f, "{millis}ms"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// Which of the numbers of a Score plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreKind {
    /// After NormalizeScore, 0 to 100.
    Normalized,
    /// As Score returned it.
    Raw,
    /// Times the weight.
    Weighted,
}

impl ScoreKind {
    /// The function that gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normalized => "score",
            Self::Raw => "raw",
            Self::Weighted => "weighted",
        }
    }
}

macro_rules! fields {
    ($($variant:ident $name:literal $($alias:literal)* $kind:ident $doc:literal;)+) => {
        /// A field of a moment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Field {
            $(#[doc = $doc] $variant,)+
        }

        impl Field {
            /// Every field.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// What its values are.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind),+ }
            }

            /// What it is, in a few words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc),+ }
            }

            /// The field of that name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $($name $(| $alias)* => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// Namespace and name of an object; the name alone is enough.
    Name,
    /// Kind and verb of a change.
    Event,
    /// A status code.
    Code,
    /// An extension point or another phase.
    Point,
    /// How an attempt ended.
    Outcome,
    /// A number.
    Number,
    /// A duration.
    Duration,
    /// Yes or no.
    Flag,
}

fields! {
    Pod "pod" Name "namespace and name of the pod";
    Namespace "namespace" "ns" Text "its namespace";
    Priority "priority" Number "its priority";
    Attempts "attempts" "attempt" "try" Number "how often it has been tried, this time included";
    Waited "waited" "queued" Duration "how long it was in the queue before this attempt";
    Profile "profile" "scheduler" Text "its schedulerName";
    Cycle "cycle" Number "the number of the attempt";
    Point "point" "phase" Point "the extension point or phase that was done";
    Plugin "plugin" Text "the plugin that answered";
    Node "node" Text "the node that it answered about; at Select the chosen one";
    Code "code" "status" Code "what it answered";
    Reason "reason" Text "the reasons that it gave";
    Points "points" Number "the normalized score of that plugin for that node";
    Total "total" Number "the total of that node";
    Feasible "feasible" Number "how many nodes passed Filter";
    Chosen "chosen" "host" Text "the node that was chosen";
    Last "last" Text "the node that was chosen for this pod before, or that it was nominated to";
    Margin "margin" Number "by how much the chosen node beats the next best";
    Preemption "preemption" Flag "whether PostFilter made room";
    Victim "victim" Name "a pod that is to go";
    Nominated "nominated" Text "the node that the pod is nominated to";
    Outcome "outcome" "result" Outcome "how the attempt ended";
    Message "message" Text "what was said of it";
    Event "event" Event "a change of the cluster, or why a pod moved";
    Queue "queue" Text "the queue that the pod came into";
    Hint "hint" Text "what a plugin thinks of a change: Queue or Skip";
    Bound "bound" Number "pods bound so far";
    Failed "failed" Number "attempts failed so far";
    Evicted "evicted" "preempted" Number "pods evicted so far";
}
