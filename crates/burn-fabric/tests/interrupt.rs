//! What a signal does to a process: the first is noted, the second ends it.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use burn_fabric::Interrupt;

const ROLE: &str = "BURN_FABRIC_TEST_INTERRUPT";

fn say(text: &str) {
    // Not by a macro, whose output the test would keep.
    std::io::stdout()
        .write_all(format!("{text}\n").as_bytes())
        .unwrap();
}

/// In the child: ask itself, and be asked by a signal after.
fn request_and_wait() -> ! {
    let interrupt = Interrupt::watch().unwrap();
    interrupt.request();
    say("watching");
    loop {
        std::thread::park();
    }
}

/// In the child: say when the first signal has come, then wait for the second, or leave.
fn wait_for_signals(leaves: bool) -> ! {
    let interrupt = Interrupt::watch().unwrap();
    assert!(!interrupt.is_requested());
    say("watching");
    while !interrupt.is_requested() {
        std::thread::yield_now();
    }
    say("asked to end");
    if leaves {
        std::process::exit(Interrupt::EXIT_CODE.into());
    }
    loop {
        std::thread::park();
    }
}

struct Watched {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Watched {
    fn start(test: &str, role: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", test]).env(ROLE, role);
        let child = child.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut watched = Self { child, lines };
        watched.wait_for("watching");
        watched
    }

    fn wait_for(&mut self, text: &str) {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        assert!(
            lines.any(|line| line.ends_with(text)),
            "the child never said `{text}`"
        );
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
    }

    fn end(mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }
}

#[test]
fn the_first_signal_is_noted_and_the_second_ends_the_process() {
    if std::env::var_os(ROLE).is_some() {
        wait_for_signals(false);
    }
    let test = "the_first_signal_is_noted_and_the_second_ends_the_process";
    for (first, second, code) in [
        ("-INT", "-INT", 130),
        ("-TERM", "-TERM", 143),
        ("-INT", "-TERM", 143),
    ] {
        let mut watched = Watched::start(test, "stay");
        watched.signal(first);
        watched.wait_for("asked to end");
        watched.signal(second);
        let status = watched.end();
        assert_eq!(
            (status.code(), status.signal()),
            (Some(code), None),
            "{first} {second}"
        );
    }
}

#[test]
fn a_run_that_leaves_has_a_code_of_its_own() {
    if std::env::var_os(ROLE).is_some() {
        wait_for_signals(true);
    }
    let watched = Watched::start("a_run_that_leaves_has_a_code_of_its_own", "leave");
    watched.signal("-TERM");
    assert_eq!(watched.end().code(), Some(75));
}

#[test]
fn a_program_can_ask_itself() {
    let interrupt = Interrupt::watch().unwrap();
    interrupt.clone().request();
    assert!(interrupt.is_requested());
}

/// What the program asked itself for is no signal: the first that comes does not end it.
#[test]
fn the_first_signal_after_a_request_is_the_first() {
    if std::env::var_os(ROLE).is_some() {
        request_and_wait();
    }
    let mut watched = Watched::start("the_first_signal_after_a_request_is_the_first", "ask");
    watched.signal("-TERM");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(watched.child.try_wait().unwrap().is_none(), "it was ended");
    watched.signal("-TERM");
    assert_eq!(watched.end().code(), Some(143));
}
