//! Environment variables of a child: a few of docent's own, and the configured ones except those that load code.

use serde::Serialize;
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

/// Origin of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VariableOrigin {
    /// docent's own environment.
    Inherited,
    /// A configuration or registry file.
    Configured,
}

/// A variable that the child does not get. Its value is left out: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DroppedVariable {
    /// Its name, with invalid UTF-8 replaced.
    pub name: String,
    /// Where it comes from.
    pub origin: VariableOrigin,
    /// Why the child does not get it.
    pub reason: &'static str,
}

/// The environment of a child.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChildEnvironment {
    /// The variables that the child gets, by name.
    pub kept: BTreeMap<OsString, OsString>,
    /// The variables that it does not get.
    pub dropped: Vec<DroppedVariable>,
}

/// Inherited variables: enough to find programs, folders and a locale.
const INHERITED_VARIABLES: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "SHELL"];
const INHERITED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// docent's own secrets.
const DOCENT_PREFIXES: [&str; 2] = ["DOCENT_", "MCP_API_KEY"];

/// Prefixes of variables that make a loader, an interpreter or a tool run arbitrary code or read arbitrary settings.
const CODE_LOADING_PREFIXES: [&str; 15] = [
    "LD_",
    "DYLD_",
    "BASH_FUNC_",
    "COR_",
    "CORECLR_",
    "GIT_CONFIG",
    "GIT_SSH",
    "GIT_TRACE",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "PERL5",
    "PYTHONPATH",
    "RUBYLIB",
    "RUBYOPT",
];

/// The same, by full names.
const CODE_LOADING_VARIABLES: [&str; 71] = [
    "BASH_ENV",
    "BASHOPTS",
    "BROWSER",
    "BUN_OPTIONS",
    "BUNDLE_GEMFILE",
    "CDPATH",
    "CLASSPATH",
    "DOTNET_ADDITIONAL_DEPS",
    "DOTNET_SHARED_STORE",
    "DOTNET_STARTUP_HOOKS",
    "EDITOR",
    "ELECTRON_RUN_AS_NODE",
    "ENV",
    "ERL_AFLAGS",
    "ERL_FLAGS",
    "ERL_ZFLAGS",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GETCONF_DIR",
    "GIO_EXTRA_MODULES",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_TEMPLATE_DIR",
    "GLIBC_TUNABLES",
    "GTK_MODULES",
    "GTK_PATH",
    "HOSTALIASES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCALDOMAIN",
    "LOCPATH",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PAGER",
    "PATH",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "RESOLV_HOST_CONF",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "VISUAL",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// npm reads settings from variables in any case.
const CODE_LOADING_ANY_CASE: [&str; 5] = [
    "npm_config_globalconfig",
    "npm_config_node_options",
    "npm_config_script_shell",
    "npm_config_shell",
    "npm_config_userconfig",
];

const OWN_SECRET: &str = "docent's own variables and tokens are not passed on";
const NOT_ON_THE_LIST: &str = "a child inherits only a short list of variables";
const LOADS_CODE: &str = "it makes a loader, shell or interpreter run other code";
const MALFORMED: &str =
    "a name must not be empty or contain = or NUL, and a value must not contain NUL";

/// Builds the environment of a child from `inherited` (docent's own) and `configured` (from a configuration or
/// registry, which takes precedence).
pub fn clean_environment(
    inherited: impl IntoIterator<Item = (OsString, OsString)>,
    configured: impl IntoIterator<Item = (OsString, OsString)>,
) -> ChildEnvironment {
    let mut clean = ChildEnvironment::default();
    let inherited = inherited.into_iter().map(|variable| (variable, VariableOrigin::Inherited));
    let configured = configured.into_iter().map(|variable| (variable, VariableOrigin::Configured));
    for ((name, value), origin) in inherited.chain(configured) {
        match rejection_reason(&name, &value, origin) {
            None => {
                clean.kept.insert(name, value);
            }
            Some(reason) => clean.dropped.push(DroppedVariable {
                name: name.to_string_lossy().into_owned(),
                origin,
                reason,
            }),
        }
    }
    clean
}

fn rejection_reason(name: &OsStr, value: &OsStr, origin: VariableOrigin) -> Option<&'static str> {
    let bytes = name.as_encoded_bytes();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| bytes.starts_with(p.as_bytes()));
    let is = |names: &[&str]| names.iter().any(|n| bytes == n.as_bytes());
    let nul = value.as_encoded_bytes().contains(&0);
    if nul || bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0) {
        return Some(MALFORMED);
    }
    if starts(&DOCENT_PREFIXES) {
        return Some(OWN_SECRET);
    }
    match origin {
        VariableOrigin::Inherited => {
            (!is(&INHERITED_VARIABLES) && !starts(&INHERITED_PREFIXES)).then_some(NOT_ON_THE_LIST)
        }
        VariableOrigin::Configured => {
            let npm =
                CODE_LOADING_ANY_CASE.iter().any(|n| bytes.eq_ignore_ascii_case(n.as_bytes()));
            (npm || is(&CODE_LOADING_VARIABLES) || starts(&CODE_LOADING_PREFIXES))
                .then_some(LOADS_CODE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn pair(name: &str, value: &str) -> (OsString, OsString) {
        (name.into(), value.into())
    }

    fn check(name: &str, inherited: Option<&str>, configured: Option<&str>) {
        let reason = |clean: ChildEnvironment| {
            assert_eq!(clean.kept.len() + clean.dropped.len(), 1, "{name:?}");
            clean.dropped.first().map(|dropped| dropped.reason)
        };
        assert_eq!(
            reason(clean_environment([pair(name, "v")], [])),
            inherited,
            "{name:?} inherited"
        );
        assert_eq!(
            reason(clean_environment([], [pair(name, "v")])),
            configured,
            "{name:?} configured"
        );
    }

    #[test]
    fn each_variable_goes_where_it_may() {
        for name in
            ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM", "XDG_CACHE_HOME"]
        {
            check(name, None, None);
        }
        for name in ["PATH", "SHELL"] {
            check(name, None, Some(LOADS_CODE));
        }
        for name in [
            "API_KEY",
            "PYTHONUNBUFFERED",
            "PYTHONUTF8",
            "NODE_ENV",
            "GIT_AUTHOR_NAME",
            "GIT_DIR",
            "GIT_COMMON_DIR",
            "path",
            "HTTP_PROXY",
            "Ä",
            "a b",
        ] {
            check(name, Some(NOT_ON_THE_LIST), None);
        }
        let loading = [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "NODE_PATH",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHOME",
            "PERL5LIB",
            "PERL5OPT",
            "RUBYOPT",
            "RUBYLIB",
            "BASH_ENV",
            "ENV",
            "PROMPT_COMMAND",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "CLASSPATH",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "GIT_EXEC_PATH",
            "GIT_CONFIG_COUNT",
            "LESSOPEN",
            "LESSCLOSE",
            "PYTHONPYCACHEPREFIX",
            "GCONV_PATH",
            "GLIBC_TUNABLES",
            "IFS",
            "BASH_FUNC_ls%%",
            "npm_config_node_options",
            "NPM_CONFIG_SCRIPT_SHELL",
        ];
        for name in loading {
            check(name, Some(NOT_ON_THE_LIST), Some(LOADS_CODE));
        }
        for name in ["DOCENT_TOKEN", "DOCENT_", "MCP_API_KEY", "MCP_API_KEY_2"] {
            check(name, Some(OWN_SECRET), Some(OWN_SECRET));
        }
        for name in ["", "A=B", "=", "A\0B", "LD_PRELOAD=x"] {
            check(name, Some(MALFORMED), Some(MALFORMED));
        }
    }

    #[test]
    fn what_is_configured_wins_and_values_are_never_reported() {
        let clean = clean_environment(
            [pair("LANG", "C"), pair("SECRET", "s3cret")],
            [pair("LANG", "de"), pair("LD_PRELOAD", "s3cret"), pair("X", "a\0s3cret")],
        );
        assert_eq!(clean.kept, BTreeMap::from([pair("LANG", "de")]));
        assert_eq!(clean.dropped.len(), 3);
        assert_eq!(clean.dropped[0].origin, VariableOrigin::Inherited);
        assert_eq!(clean.dropped[1].origin, VariableOrigin::Configured);
        assert!(!serde_json::to_string(&clean.dropped).unwrap().contains("s3cret"));
    }

    #[test]
    fn a_name_that_is_not_text_is_judged_by_its_bytes() {
        let name = |bytes: &[u8]| (OsString::from_vec(bytes.to_vec()), OsString::new());
        let clean = clean_environment([], [name(b"LD_\xff"), name(b"\xff")]);
        assert_eq!(clean.dropped.len(), 1);
        assert_eq!(clean.dropped[0].name, "LD_\u{fffd}");
        assert_eq!(clean.kept.len(), 1);
    }
}
