//! `schedscope learn`: the course in the console, and the check of lessons without one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;

use super::args::ConsoleArgs;
use super::run::print;
use super::{Main, console, exit, tell};
use crate::driver::session::spawn_sandbox;
use crate::lessons::{Course, Lesson, LessonError, Progress, ProgressStore, bundled, check};
use crate::tui::widgets::text::clean;
use crate::tui::{self, ExitReason};

/// `schedscope learn`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes of --check: 0 the engine answers every question as its author expects; 1 it does not; \
                  2 a lesson cannot be read."
)]
pub struct LearnArgs {
    /// Plays every question without a screen and compares the engine's answer with what the author expects
    #[arg(long)]
    pub check: bool,
    /// Lists the lessons, with those that are done
    #[arg(long, conflicts_with = "check")]
    pub list: bool,
    /// Forgets which lessons are done
    #[arg(long, conflicts_with_all = ["check", "list"])]
    pub forget: bool,
    /// A lesson of the course by its number or name; or files and folders with lessons of your own
    #[arg(value_name = "LESSON|FILE|DIR")]
    pub lessons: Vec<PathBuf>,
    /// How the console looks.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// The file in a folder that is a lesson.
const LESSON_FILE: &str = "lesson.toml";

/// Teaches, lists or checks. The answer is the exit code.
pub(super) fn run(args: &LearnArgs, program: &Main) -> anyhow::Result<u8> {
    let store = Store::new();
    if args.forget {
        store.keep(&Progress::default()).map_err(anyhow::Error::msg)?;
        print(&format!("nothing is done any more in {}\n", store.path.display()))?;
        return Ok(exit::OK);
    }
    let course = bundled::course().map_err(|errors| anyhow::anyhow!(lines(&errors)))?;
    let (lessons, at) = match chosen(args, course) {
        Ok(chosen) => chosen,
        Err(said) => {
            tell(&said);
            return Ok(exit::WRONG);
        }
    };
    if args.check {
        return check_all(&lessons, program);
    }
    let progress = store.read();
    if args.list {
        print(&list(&lessons, &progress))?;
        return Ok(exit::OK);
    }
    let at = at.unwrap_or_else(|| first_open(&lessons, &progress));
    teach(args, lessons, at, progress, store, program)
}

/// The lessons that are meant, and which of them is opened, if one is named.
fn chosen(args: &LearnArgs, course: Vec<Lesson>) -> Result<(Vec<Lesson>, Option<usize>), String> {
    match args.lessons.as_slice() {
        [] => Ok((course, None)),
        [one] if !one.exists() => {
            let word = one.to_string_lossy();
            let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let at = number.filter(|at| *at < course.len());
            let at = at.or_else(|| course.iter().position(|lesson| lesson.id == word));
            let at = at.ok_or_else(|| {
                format!(
                    "{word}: there is no such file, and no such lesson (`schedscope learn --list` lists them)"
                )
            })?;
            Ok(if args.check {
                (course.into_iter().skip(at).take(1).collect(), None)
            } else {
                (course, Some(at))
            })
        }
        paths => {
            let mut found = Vec::new();
            for path in paths {
                find(path, &mut found).map_err(|error| format!("{error:#}"))?;
            }
            let (mut lessons, mut errors) = (Vec::new(), Vec::new());
            for file in &found {
                match read(file) {
                    Ok(lesson) => lessons.push(lesson),
                    Err(said) => errors.push(said),
                }
            }
            match errors.is_empty() {
                true if lessons.is_empty() => Err(format!(
                    "there is no lesson (a .toml file) in {}",
                    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
                )),
                true => Ok((lessons, None)),
                false => Err(errors.join("\n")),
            }
        }
    }
}

/// The files of lessons at a path: itself, the lesson of a folder, or those in it, by name.
fn find(path: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let own = path.join(LESSON_FILE);
    if own.is_file() {
        found.push(own);
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| path.display().to_string())? {
        entries.push(entry.with_context(|| path.display().to_string())?.path());
    }
    entries.sort();
    for entry in entries {
        let is_lesson = entry.extension().is_some_and(|extension| extension == "toml");
        if is_lesson || entry.join(LESSON_FILE).is_file() {
            find(&entry, found)?;
        }
    }
    Ok(())
}

/// Reads a lesson with the files that it names.
fn read(file: &Path) -> Result<Lesson, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let named_by = if file.file_name().is_some_and(|name| name == LESSON_FILE) { folder } else { file };
    let id = named_by.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let read_file = |other: &str| {
        std::fs::read_to_string(folder.join(other)).map_err(|error| format!("{other}: {error}"))
    };
    Lesson::read(&name, &id, &text, &read_file).map_err(|errors| lines(&errors))
}

fn lines(errors: &[LessonError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The first lesson that is not done; the first one if all are.
fn first_open(lessons: &[Lesson], progress: &Progress) -> usize {
    lessons.iter().position(|lesson| progress.of(&lesson.id).is_none()).unwrap_or(0)
}

fn list(lessons: &[Lesson], progress: &Progress) -> String {
    let width = lessons.iter().map(|lesson| lesson.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (i, lesson) in lessons.iter().enumerate() {
        let mark = match progress.of(&lesson.id) {
            Some(done) => format!("done {}/{}", done.right, done.of),
            None => String::new(),
        };
        let line =
            format!("{:>2}  {:width$}  {:8}  {}", i + 1, clean(&lesson.id), mark, clean(&lesson.title));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let n_done = lessons.iter().filter(|lesson| progress.of(&lesson.id).is_some()).count();
    text.push_str(&format!("{n_done} of {} lessons are done\n", lessons.len()));
    text
}

/// Compares every lesson with the engine.
fn check_all(lessons: &[Lesson], program: &Main) -> anyhow::Result<u8> {
    let (mut n_questions, mut n_wrong) = (0, 0);
    let mut text = String::new();
    for lesson in lessons {
        match check(lesson, program.registry()) {
            Ok(answers) => {
                n_questions += answers.len();
                let answers: Vec<String> = answers.iter().map(ToString::to_string).collect();
                text.push_str(&format!("{}: {}\n", clean(&lesson.id), clean(&answers.join(" | "))));
            }
            Err(found) => {
                n_wrong += 1;
                for problem in found {
                    text.push_str(&format!("{}\n", clean(&problem.to_string().replace('\n', "; "))));
                }
            }
        }
    }
    if n_wrong > 0 {
        text.push_str(&format!("{n_wrong} of {} lessons do not agree with the engine\n", lessons.len()));
        print(&text)?;
        return Ok(exit::DIFFERENT);
    }
    let n_lessons = lessons.len();
    let s = |n: usize| if n == 1 { "" } else { "s" };
    text.push_str(&format!(
        "{n_lessons} lesson{}, {n_questions} question{}: the engine answers as expected\n",
        s(n_lessons),
        s(n_questions)
    ));
    print(&text)?;
    Ok(exit::OK)
}

/// The console.
fn teach(
    args: &LearnArgs,
    lessons: Vec<Lesson>,
    at: usize,
    progress: Progress,
    store: Store,
    program: &Main,
) -> anyhow::Result<u8> {
    // Everything that can be wrong is found before the terminal is touched.
    let options = console::options(&args.console)?;
    let course =
        Course::open(lessons.into(), at, program.registry().clone(), progress, Some(Arc::new(store)))
            .map_err(anyhow::Error::msg)?;
    tui::check(options.is_plain).map_err(|error| console::explain(&error))?;
    console::start_log(&args.console, &options.log)?;
    let session = spawn_sandbox(course.initial(), "lesson".into(), None).context("starting the session")?;
    match tui::run_with(session, options, Some(course)).map_err(|error| console::explain(&error))? {
        ExitReason::Quit | ExitReason::TerminalGone => Ok(exit::OK),
        ExitReason::Signal(number) => Ok(exit::SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0))),
    }
}

/// The file with the learner's progress.
#[derive(Clone, Debug)]
struct Store {
    path: PathBuf,
}

impl Store {
    /// `$XDG_STATE_HOME/schedscope/progress.json`, else below `~/.local/state`.
    fn new() -> Self {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = var("XDG_STATE_HOME").filter(|path| path.is_absolute());
        let state = state.or_else(|| var("HOME").map(|home| home.join(".local/state")));
        Self { path: state.unwrap_or_default().join("schedscope/progress.json") }
    }

    fn read(&self) -> Progress {
        std::fs::read_to_string(&self.path).map(|text| Progress::read(&text)).unwrap_or_default()
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        let Some(folder) = self.path.parent() else { bail!("there is no folder for it") };
        std::fs::create_dir_all(folder)?;
        // A console that ends in the middle leaves what was there.
        let new = self.path.with_extension(format!("json.{}", std::process::id()));
        std::fs::write(&new, text)?;
        Ok(std::fs::rename(&new, &self.path)?)
    }
}

impl ProgressStore for Store {
    fn keep(&self, progress: &Progress) -> Result<(), String> {
        self.write(&progress.text()).map_err(|error| format!("{}: {error:#}", self.path.display()))
    }
}
