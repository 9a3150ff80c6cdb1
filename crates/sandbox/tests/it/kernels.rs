//! Reports and refusals on kernels that this machine does not have.

use docent_sandbox::{
    Confinement, ConfinementMode, ControlState, Launch, PortSet, SandboxError, SandboxSupport, plan,
};

fn kernel(landlock: u32, seccomp: bool) -> SandboxSupport {
    SandboxSupport { landlock, seccomp, no_new_privs: true, bubblewrap: None }
}

/// Auto lists as missing what strict refuses.
fn check(offered: &SandboxSupport, confinement: &Confinement, missing: &[&str]) {
    let auto = plan(confinement, ConfinementMode::Auto, offered).unwrap();
    let found: Vec<_> = auto.missing().map(|control| control.name).collect();
    assert_eq!(found, missing, "{offered:?}");
    assert_eq!(auto.controls.len(), 15);
    match plan(confinement, ConfinementMode::Strict, offered) {
        Ok(report) => {
            assert!(missing.is_empty(), "{offered:?}");
            assert_eq!(report.controls, auto.controls);
        }
        Err(refused @ SandboxError::Missing { .. }) => {
            let text = refused.to_string();
            assert!(
                !missing.is_empty() && missing.iter().all(|name| text.contains(name)),
                "{text}"
            );
        }
        Err(other) => panic!("{other}"),
    }
    let off = plan(confinement, ConfinementMode::Off, offered).unwrap();
    assert!(off.controls.iter().all(|control| control.state == ControlState::Off));
}

#[test]
fn each_kernel_s_gaps_are_named() {
    let closed = Confinement::default();
    let web = Confinement::default().connect(PortSet::Some(vec![443])).unix_sockets(true);
    let seccomp = ["udp", "unix-sockets", "spawn", "attributes", "system-calls"];
    check(&kernel(7, true), &closed, &[]);
    check(&kernel(6, true), &web, &[]);
    check(&kernel(5, true), &closed, &["signals"]);
    check(&kernel(5, true), &web, &["abstract-unix", "signals"]);
    check(&kernel(4, true), &web, &["devices", "abstract-unix", "signals"]);
    check(&kernel(3, true), &closed, &["devices", "signals"]);
    check(
        &kernel(3, true),
        &web,
        &["devices", "tcp-connect", "tcp-bind", "abstract-unix", "signals"],
    );
    check(&kernel(2, true), &closed, &["truncation", "devices", "signals"]);
    check(&kernel(0, true), &closed, &["files", "truncation", "devices", "signals"]);
    check(&kernel(0, true), &closed.clone().sealed(true), &[]);
    check(&kernel(7, false), &closed, &seccomp);
    let open = web.udp(true).spawn(true).attributes(true).connect(PortSet::Any).bind(PortSet::Any);
    check(&kernel(7, false), &open, &["system-calls"]);
    let bare = SandboxSupport { no_new_privs: false, ..kernel(7, true) };
    check(&bare, &closed, &["no-new-privileges", "capabilities"]);
}

#[test]
fn what_is_allowed_is_off_and_not_missing() {
    let open = Confinement::default().udp(true).connect(PortSet::Any).spawn(true);
    let report = plan(&open, ConfinementMode::Strict, &kernel(7, true)).unwrap();
    for (name, state) in [
        ("udp", ControlState::Off),
        ("tcp-connect", ControlState::Off),
        ("spawn", ControlState::Off),
        ("tcp-bind", ControlState::InForce),
        ("files", ControlState::InForce),
    ] {
        assert_eq!(report.control(name).unwrap().state, state, "{name}");
    }
}

#[test]
fn what_is_said_of_sockets_agrees() {
    let said = |confinement: &Confinement| {
        let report = plan(confinement, ConfinementMode::Strict, &kernel(7, true)).unwrap();
        ["udp", "tcp-connect"].map(|name| report.control(name).unwrap().detail.clone())
    };
    for detail in said(&Confinement::default()) {
        assert_eq!(detail, "seccomp: no internet socket can be created");
    }
    let [udp, tcp] = said(&Confinement::default().connect(PortSet::Some(vec![443])));
    assert!(udp.contains("only TCP") && tcp.contains("[443]"), "{udp}; {tcp}");
}

#[test]
fn this_kernel_is_asked_by_its_system_call() {
    let offered = SandboxSupport::look();
    let modules = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    if offered.landlock == 0 && !modules.contains("landlock") {
        docent_testenv::skip!("the kernel has no Landlock");
    }
    assert!(offered.landlock >= 1 && offered.seccomp && offered.no_new_privs, "{offered:?}");
}

#[test]
fn bubblewrap_that_is_not_installed_is_reported_or_refused() {
    let offered = kernel(7, true);
    let launch = |mode, bubblewrap| {
        let launch = Launch::new("/bin/true", [""; 0], Confinement::default(), mode);
        Launch { bubblewrap, ..launch }.command_with(&offered)
    };
    let report = launch(ConfinementMode::Auto, true).unwrap().report;
    assert_eq!(report.control("bubblewrap").unwrap().state, ControlState::NotOffered);
    let refused = launch(ConfinementMode::Strict, true).unwrap_err().to_string();
    assert!(refused.contains("bubblewrap is not installed"), "{refused}");
    let report = launch(ConfinementMode::Strict, false).unwrap().report;
    assert_eq!(report.control("bubblewrap").unwrap().state, ControlState::Off);
}

#[test]
fn a_launch_without_spawn_needs_landlock_to_distinguish_programs() {
    let launch = Launch::new("/bin/true", [""; 0], Confinement::default(), ConfinementMode::Auto);
    let report = launch.command_with(&kernel(0, true)).unwrap().report;
    assert_eq!(report.control("spawn").unwrap().state, ControlState::NotOffered);
}
