//! seccomp: the system calls that Landlock does not cover.
//!
//! Denied calls fail with EPERM rather than ending the process, so that a program can fall back. A call through another
//! architecture's entry point (32-bit programs) ends it, because its numbers mean other calls.

use crate::{Confinement, PortSet, plan::ConfinementTarget, report::SandboxError};
use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;

/// Calls about other processes, the kernel and the machine, which no program that docent starts needs.
const DENIED_CALLS: &[c_long] = &[
    // Other processes.
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // Namespaces, mounts, and files by other means than their path.
    libc::SYS_chroot,
    libc::SYS_fanotify_init,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
    // io_uring makes calls that no filter sees.
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    // The kernel itself.
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_perf_event_open,
    libc::SYS_request_key,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
    // The machine.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
];

/// Owners, modes, timestamps and extended attributes.
const ATTRIBUTE_CALLS: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    FILE_SETATTR,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    REMOVEXATTRAT,
    libc::SYS_setxattr,
    SETXATTRAT,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
];

/// Calls that name files by path, or other processes and shared resources by number; a sealed process needs none of
/// them.
const NAMING_CALLS: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_truncate,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_inotify_init1,
    libc::SYS_memfd_create,
    libc::SYS_mq_open,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
    libc::SYS_socketpair,
    libc::SYS_kill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_tkill,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
];

/// Calls that create a process, except `clone`.
const FORK_CALLS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

// Calls of recent kernels. Their numbers are the same on every architecture.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const OPEN_TREE_ATTR: c_long = 467;
const FILE_SETATTR: c_long = 469;

/// The namespaces that `clone` can create, one bit each.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Ioctls that insert keystrokes into the terminal for the next reader.
const TERMINAL_INPUT_IOCTLS: [u64; 2] = [0x5412, 0x541c];

/// Selects one process in calls that apply to a process, a group, or all of a user.
const PRIORITY_OF_PROCESS: u64 = 0;
const IO_PRIORITY_OF_PROCESS: u64 = 1;

/// Makes `personality` return the current value without setting one.
const PERSONALITY_QUERY: u64 = 0xffff_ffff;

/// `MFD_NOEXEC_SEAL`: a file in memory that can't be made executable.
const MEMFD_NO_EXEC: u64 = 8;

/// The mask of a socket's type without flags, and the types: stream, datagram, sequenced packets.
const SOCKET_TYPE_MASK: u64 = 0xf;
const STREAM_SOCKET: u64 = 1;
const DATAGRAM_SOCKET: u64 = 2;
const SEQPACKET_SOCKET: u64 = 5;

const INTERNET_FAMILIES: [i32; 2] = [libc::AF_INET, libc::AF_INET6];

/// One condition of a rule: the argument's position and what it must be.
type ArgumentTest = (u8, SeccompCmpOp, u64);

/// Rules by system call. A call with an empty list is always denied.
#[derive(Default)]
struct SeccompRules(BTreeMap<c_long, Vec<SeccompRule>>);

impl SeccompRules {
    fn deny(&mut self, calls: &[c_long]) {
        for call in calls {
            self.0.insert(*call, Vec::new());
        }
    }

    /// Denies `call` if every test matches.
    fn deny_where(&mut self, call: c_long, tests: &[ArgumentTest]) -> Result<(), BackendError> {
        // A call that is always denied stays so.
        if self.0.get(&call).is_some_and(Vec::is_empty) {
            return Ok(());
        }
        // The kernel reads these arguments as 32 bits, so the rest of the register must be ignored.
        let conditions: Result<Vec<_>, _> = tests
            .iter()
            .map(|(place, is, value)| SeccompCondition::new(*place, Dword, is.clone(), *value))
            .collect();
        self.0.entry(call).or_default().push(SeccompRule::new(conditions?)?);
        Ok(())
    }

    fn compiled(self, errno: i32) -> Result<BpfProgram, BackendError> {
        let answer = SeccompAction::Errno(errno.cast_unsigned());
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        SeccompFilter::new(self.0, SeccompAction::Allow, answer, arch)?.try_into()
    }
}

/// Compiles the filters for `confinement`. The kernel runs all of them on each call, and the strictest answer counts.
pub(super) fn compile(
    confinement: &Confinement,
    whom: ConfinementTarget,
) -> Result<Vec<BpfProgram>, SandboxError> {
    programs(confinement, whom).map_err(|error| SandboxError::failed("system-calls", error))
}

/// Applies `filters` to the calling thread.
pub(super) fn apply(filters: &[BpfProgram]) -> Result<(), SandboxError> {
    for filter in filters {
        apply_filter(filter).map_err(|error| SandboxError::failed("system-calls", error))?;
    }
    Ok(())
}

fn programs(
    confinement: &Confinement,
    whom: ConfinementTarget,
) -> Result<Vec<BpfProgram>, BackendError> {
    let mut denied = SeccompRules::default();
    denied.deny(DENIED_CALLS);
    arguments(&mut denied)?;
    sockets(&mut denied, confinement)?;
    processes(&mut denied, confinement, whom)?;
    if !confinement.attributes {
        denied.deny(ATTRIBUTE_CALLS);
    }
    if confinement.sealed {
        denied.deny(NAMING_CALLS);
        // Aborting signals the process itself.
        let own = u64::from(std::process::id());
        denied.deny_where(libc::SYS_tgkill, &[(0, SeccompCmpOp::Ne, own)])?;
    }
    // Its flags are in memory, where a filter can't look. Libraries fall back to `clone` if it is missing.
    let mut missing = SeccompRules::default();
    missing.deny(&[libc::SYS_clone3]);
    let mut programs = vec![missing.compiled(libc::ENOSYS)?, denied.compiled(libc::EPERM)?];
    if cfg!(target_arch = "x86_64") {
        programs.push(no_x32());
    }
    Ok(programs)
}

/// x32 calls use the same entry point with an extra bit in their numbers, so they match no rule.
fn no_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: missing },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
    ]
}

/// Denies calls by their arguments, for every description.
fn arguments(rules: &mut SeccompRules) -> Result<(), BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    for namespace in NAMESPACE_FLAGS {
        let bit = u64::from(namespace.cast_unsigned());
        rules.deny_where(libc::SYS_clone, &[(0, MaskedEq(bit), bit)])?;
    }
    for command in TERMINAL_INPUT_IOCTLS {
        rules.deny_where(libc::SYS_ioctl, &[(1, Eq, command)])?;
    }
    rules.deny_where(libc::SYS_personality, &[(0, Ne, 0), (0, Ne, PERSONALITY_QUERY)])?;
    // Otherwise another process of the same user could have its limits or its priority lowered. Scheduler and CPU
    // affinity stay allowed, because libraries set those of their own threads by number.
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setattr] {
        rules.deny_where(call, &[(0, Ne, 0)])?;
    }
    for (call, one) in [
        (libc::SYS_setpriority, PRIORITY_OF_PROCESS),
        (libc::SYS_ioprio_set, IO_PRIORITY_OF_PROCESS),
    ] {
        rules.deny_where(call, &[(0, Ne, one)])?;
        rules.deny_where(call, &[(1, Ne, 0)])?;
    }
    // Such a file has no path, so Landlock would allow executing it.
    rules.deny_where(libc::SYS_memfd_create, &[(1, MaskedEq(MEMFD_NO_EXEC), 0)])
}

fn sockets(rules: &mut SeccompRules, confinement: &Confinement) -> Result<(), BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let family = |number: i32| u64::from(number.cast_unsigned());
    let unix = family(libc::AF_UNIX);
    let mut families = Vec::new();
    if confinement.internet() {
        families.extend(INTERNET_FAMILIES.map(family));
    }
    if confinement.unix_sockets {
        families.push(unix);
    }
    if families.is_empty() {
        rules.deny(&[libc::SYS_socket]);
    } else {
        let others: Vec<ArgumentTest> = families.iter().map(|family| (0, Ne, *family)).collect();
        rules.deny_where(libc::SYS_socket, &others)?;
        for kind in (0..=SOCKET_TYPE_MASK)
            .filter(|kind| !(*kind == STREAM_SOCKET || *kind == DATAGRAM_SOCKET && confinement.udp))
        {
            rules.deny_where(
                libc::SYS_socket,
                &[(0, Ne, unix), (1, MaskedEq(SOCKET_TYPE_MASK), kind)],
            )?;
        }
        // Landlock checks only the ports of TCP, so multipath TCP and the like would bypass it.
        for (kind, protocol) in
            [(STREAM_SOCKET, libc::IPPROTO_TCP), (DATAGRAM_SOCKET, libc::IPPROTO_UDP)]
        {
            let protocol = u64::from(protocol.cast_unsigned());
            let tests = [
                (0, Ne, unix),
                (1, MaskedEq(SOCKET_TYPE_MASK), kind),
                (2, Ne, 0),
                (2, Ne, protocol),
            ];
            rules.deny_where(libc::SYS_socket, &tests)?;
        }
    }
    // A pair of datagram sockets can be connected to another address; pairs of streams and sequenced packets can't.
    rules.deny_where(libc::SYS_socketpair, &[(0, Ne, unix)])?;
    if !confinement.unix_sockets {
        for kind in
            (0..=SOCKET_TYPE_MASK).filter(|kind| ![STREAM_SOCKET, SEQPACKET_SOCKET].contains(kind))
        {
            rules.deny_where(
                libc::SYS_socketpair,
                &[(0, Eq, unix), (1, MaskedEq(SOCKET_TYPE_MASK), kind)],
            )?;
        }
    }
    // Sending with this flag connects without a check by Landlock.
    let fast_open = u64::from(libc::MSG_FASTOPEN.cast_unsigned());
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        rules.deny_where(call, &[(flags, MaskedEq(fast_open), fast_open)])?;
    }
    // So does switching a socket to another protocol.
    if confinement.connect != PortSet::Any || confinement.bind != PortSet::Any {
        let number = |number: i32| u64::from(number.cast_unsigned());
        let tests = [(1, Eq, number(libc::IPPROTO_TCP)), (2, Eq, number(libc::TCP_ULP))];
        rules.deny_where(libc::SYS_setsockopt, &tests)?;
    }
    // A socket that listens without a port gets one from the kernel, again without a check.
    if confinement.bind.closed() && !confinement.unix_sockets {
        rules.deny(&[libc::SYS_listen]);
    }
    Ok(())
}

fn processes(
    rules: &mut SeccompRules,
    confinement: &Confinement,
    whom: ConfinementTarget,
) -> Result<(), BackendError> {
    if confinement.spawn {
        return Ok(());
    }
    rules.deny(FORK_CALLS);
    let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
    rules.deny_where(libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(thread), 0)])?;
    // If the program is still to be executed, Landlock restricts which files may be.
    if whom == ConfinementTarget::Itself {
        rules.deny(&[libc::SYS_execve, libc::SYS_execveat]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's limit for the instructions of one filter.
    const MAX_FILTER_INSTRUCTIONS: usize = 4096;

    #[test]
    fn every_description_compiles_within_the_bound_of_the_kernel() {
        let open = Confinement::default().udp(true).unix_sockets(true).spawn(true).attributes(true);
        for confinement in [
            Confinement::default(),
            Confinement::default().bind(PortSet::Any),
            Confinement::default().unix_sockets(true),
            Confinement::for_child(["/srv"]).connect(PortSet::Some(vec![443])),
            open,
        ] {
            for whom in [ConfinementTarget::Itself, ConfinementTarget::Program] {
                for program in compile(&confinement, whom).unwrap() {
                    assert!(
                        (3..MAX_FILTER_INSTRUCTIONS).contains(&program.len()),
                        "{}",
                        program.len()
                    );
                }
            }
        }
    }

    /// Emulates the kernel's answer to a call of this architecture, as far as these programs need it.
    fn run(program: &[sock_filter], call: u32, args: [u64; 6]) -> u32 {
        let arch = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
        let word = |at: u32| match at {
            0 => call,
            4 => arch,
            at => {
                let value = args[(at as usize - 16) / 8];
                u32::try_from(if at % 8 == 0 { value & 0xffff_ffff } else { value >> 32 }).unwrap()
            }
        };
        let (mut at, mut held) = (0, 0);
        loop {
            let step = &program[at];
            let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
            at += 1 + match step.code {
                0x20 => {
                    held = word(step.k);
                    0
                }
                0x54 => {
                    held &= step.k;
                    0
                }
                0x05 => step.k as usize,
                0x15 => jump(held == step.k),
                0x25 => jump(held > step.k),
                0x35 => jump(held >= step.k),
                0x06 => return step.k,
                code => panic!("instruction {code:#x}"),
            };
        }
    }

    /// Returns the error of a call, or 0 if it is allowed.
    fn answer(
        confinement: &Confinement,
        whom: ConfinementTarget,
        call: c_long,
        args: [u64; 6],
    ) -> i32 {
        let call = u32::try_from(call).unwrap();
        let programs = compile(confinement, whom).unwrap();
        let strictest = programs.iter().map(|program| run(program, call, args)).min().unwrap();
        if strictest == libc::SECCOMP_RET_ALLOW {
            return 0;
        }
        (strictest & !libc::SECCOMP_RET_ERRNO).cast_signed()
    }

    #[test]
    fn what_is_denied_is_denied_to_every_description() {
        let open = Confinement::default().udp(true).unix_sockets(true).spawn(true).attributes(true);
        for confinement in [open.connect(PortSet::Any).bind(PortSet::Any), Confinement::default()] {
            for whom in [ConfinementTarget::Itself, ConfinementTarget::Program] {
                for call in DENIED_CALLS {
                    assert_eq!(answer(&confinement, whom, *call, [0; 6]), libc::EPERM, "{call}");
                }
                assert_eq!(answer(&confinement, whom, libc::SYS_clone3, [0; 6]), libc::ENOSYS);
                for call in [libc::SYS_read, libc::SYS_openat, libc::SYS_mmap, libc::SYS_futex] {
                    assert_eq!(answer(&confinement, whom, call, [u64::MAX; 6]), 0, "{call}");
                }
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn x32_calls_are_missing() {
        let open = Confinement::default().spawn(true).connect(PortSet::Any);
        for call in [libc::SYS_read, libc::SYS_ptrace, 520, 521] {
            let x32 = call | 0x4000_0000;
            assert_eq!(
                answer(&open, ConfinementTarget::Itself, x32, [0; 6]),
                libc::ENOSYS,
                "{call}"
            );
        }
    }

    #[test]
    fn arguments_decide_by_their_lower_half() {
        let junk = 0xdead_0000_0000_0000;
        let web = Confinement::default().connect(PortSet::Any);
        let local = Confinement::default().unix_sockets(true);
        let names = Confinement::default().udp(true);
        let all = web.clone().udp(true).unix_sockets(true).spawn(true);
        let listener = Confinement::default().bind(PortSet::Any);
        let denied = libc::EPERM;
        let check = |confinement: &Confinement, call: c_long, args: [u64; 3], expected: i32| {
            for high in [0, junk] {
                let [a, b, c] = args.map(|arg| arg | high);
                let found =
                    answer(confinement, ConfinementTarget::Itself, call, [a, b, c, 0, 0, 0]);
                assert_eq!(found, expected, "{call} {args:x?} {high:x} {confinement:?}");
            }
        };
        let nonblocking = 0o4000;
        check(&web, libc::SYS_socket, [2, 1, 0], 0);
        check(&web, libc::SYS_socket, [10, 1 | nonblocking, 6], 0);
        check(&web, libc::SYS_socket, [2, 2, 0], denied);
        check(&web, libc::SYS_socket, [2, 2 | nonblocking, 17], denied);
        check(&web, libc::SYS_socket, [1, 1, 0], denied);
        check(&web, libc::SYS_socket, [2, 1, 262], denied);
        check(&names, libc::SYS_socket, [10, 2, 17], 0);
        check(&names, libc::SYS_socket, [10, 2, 136], denied);
        check(&all, libc::SYS_socket, [2, 3, 1], denied);
        check(&local, libc::SYS_socket, [1, 2, 0], 0);
        check(&local, libc::SYS_socket, [2, 1, 0], denied);
        for family in [0, 16, 17, 38, 40] {
            check(&all, libc::SYS_socket, [family, 1, 0], denied);
            check(&all, libc::SYS_socketpair, [family, 1, 0], denied);
        }
        check(&web, libc::SYS_socketpair, [1, 1, 0], 0);
        check(&web, libc::SYS_socketpair, [1, 5, 0], 0);
        check(&web, libc::SYS_socketpair, [1, 2, 0], denied);
        check(&web, libc::SYS_listen, [3, 1, 0], denied);
        check(&listener, libc::SYS_listen, [3, 1, 0], 0);
        check(&web, libc::SYS_clone, [0x0001_0000, 0, 0], 0);
        check(&web, libc::SYS_clone, [17, 0, 0], denied);
        check(&all, libc::SYS_clone, [17, 0, 0], 0);
        for namespace in NAMESPACE_FLAGS {
            check(&all, libc::SYS_clone, [u64::from(namespace.cast_unsigned()), 0, 0], denied);
        }
        check(&all, libc::SYS_personality, [0, 0, 0], 0);
        check(&all, libc::SYS_personality, [PERSONALITY_QUERY, 0, 0], 0);
        check(&all, libc::SYS_personality, [0x40_0000, 0, 0], denied);
        check(&all, libc::SYS_memfd_create, [0, 1, 0], denied);
        check(&all, libc::SYS_memfd_create, [0, 1 | MEMFD_NO_EXEC, 0], 0);
        check(&all, libc::SYS_prlimit64, [0, 7, 0], 0);
        check(&all, libc::SYS_prlimit64, [1, 7, 0], denied);
        check(&all, libc::SYS_sched_setattr, [0, 1, 0], 0);
        check(&all, libc::SYS_sched_setattr, [1, 1, 0], denied);
        check(&all, libc::SYS_setpriority, [0, 0, 19], 0);
        check(&all, libc::SYS_ioprio_set, [1, 0, 0], 0);
        for args in [[0, 1, 19], [1, 0, 19], [2, 0, 19]] {
            check(&all, libc::SYS_setpriority, args, denied);
        }
        for args in [[1, 1, 0], [2, 0, 0], [3, 0, 0]] {
            check(&all, libc::SYS_ioprio_set, args, denied);
        }
        let every_port = web.clone().bind(PortSet::Any);
        check(&every_port, libc::SYS_setsockopt, [3, 6, 31], 0);
        for limited in [&web, &listener, &names] {
            check(limited, libc::SYS_setsockopt, [3, 6, 31], denied);
            check(limited, libc::SYS_setsockopt, [3, 6, 1], 0);
            check(limited, libc::SYS_setsockopt, [3, 1, 31], 0);
        }
        check(&all, libc::SYS_ioctl, [0, 0x5401, 0], 0);
        for command in TERMINAL_INPUT_IOCTLS {
            check(&all, libc::SYS_ioctl, [0, command, 0], denied);
        }
        check(&web, libc::SYS_execve, [0, 0, 0], denied);
        check(&all, libc::SYS_execve, [0, 0, 0], 0);
    }
}
