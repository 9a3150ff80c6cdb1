//! `docent servers test`: starts each server, lists its tools, and stops it.

use super::{
    ServerDialer, approval_memory,
    command::{NO_SERVERS, ServersCommonArgs, entry, skip_reason},
    keeper, spec_of,
};
use crate::{
    analyze::Printed,
    cli,
    config::{Config, ServerEntryProblem},
};
use anyhow::bail;
use docent_hub::{Hub, ServerSpec, ServerState, ServerStatus};
use docent_screen::one_line;
use serde_json::json;
use std::{fmt::Write as _, sync::Arc};

pub(super) fn test(names: &[String], common: &ServersCommonArgs) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    let config = cli::load(&inputs)?;
    let is_meant = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let faults: Vec<&ServerEntryProblem> = config
        .faults
        .iter()
        .filter(|fault| fault.server.as_deref().map_or(names.is_empty(), is_meant))
        .collect();
    for name in names.iter().filter(|name| !is_broken(name, &faults)) {
        let entry = entry(&config, name)?;
        if let Some(why) = skip_reason(entry) {
            bail!("the server {name:?} is {why}");
        }
    }
    let usable = config.servers.iter().filter(|entry| skip_reason(entry).is_none());
    let mut specs: Vec<ServerSpec> = usable.map(|entry| spec_of(entry, &config)).collect();
    specs.retain(|spec| is_meant(&spec.name));
    for spec in &mut specs {
        spec.warm = true;
    }
    let statuses = if specs.is_empty() {
        Vec::new()
    } else {
        let keeper = keeper(&config, &inputs.environment)?;
        let means = super::HubResources::new(&config, Some(keeper), inputs.environment.clone());
        test_servers(&config, specs, Arc::new(ServerDialer::new(config.clone(), means)))?
    };
    let mut text: String = statuses.iter().map(describe_status).collect();
    for fault in &faults {
        let mark = if fault.fatal { "FAIL  " } else { "note: " };
        writeln!(text, "{mark}{}", fault.message).unwrap_or_default();
    }
    if text.is_empty() {
        text.push_str(NO_SERVERS);
    }
    let failed = statuses.iter().any(|status| status.state != ServerState::Ready)
        || faults.iter().any(|fault| fault.fatal);
    let problem = |fault: &&ServerEntryProblem| json!({"server": fault.server, "what": fault.message, "fatal": fault.fatal});
    let problems: Vec<_> = faults.iter().map(problem).collect();
    Ok(common.printed_with(text, &json!({"servers": statuses, "problems": problems}), failed))
}

fn is_broken(name: &str, faults: &[&ServerEntryProblem]) -> bool {
    faults.iter().any(|fault| fault.fatal && fault.server.as_deref() == Some(name))
}

fn test_servers(
    config: &Config,
    specs: Vec<ServerSpec>,
    dial: Arc<ServerDialer>,
) -> anyhow::Result<Vec<ServerStatus>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        let hub = Hub::new(config.hub.settings.clone(), dial, approval_memory(config));
        hub.configure(specs);
        for server in hub.servers() {
            server.try_now().await;
        }
        let statuses = hub.status();
        hub.close().await;
        statuses
    }))
}

fn describe_status(status: &ServerStatus) -> String {
    let mut text = String::new();
    if status.state == ServerState::Ready {
        let server = |field: &str| {
            status.server.get(field).and_then(|value| value.as_str()).unwrap_or("?").to_owned()
        };
        writeln!(
            text,
            "ok    {}: {} {}, {} tools, revision {}",
            status.name,
            server("name"),
            server("version"),
            status.tools,
            status.protocol.as_deref().unwrap_or("?")
        )
        .unwrap_or_default();
    } else {
        writeln!(
            text,
            "FAIL  {}: {}",
            status.name,
            status.health.last_failure.as_deref().unwrap_or("it did not start")
        )
        .unwrap_or_default();
    }
    for held in &status.held_back {
        let why = if held.before.is_some() { "changed" } else { "not approved" };
        writeln!(text, "      held back: {} ({why})", one_line(&held.tool)).unwrap_or_default();
    }
    for (tool, why) in &status.left_out {
        let (tool, why) = (one_line(tool), one_line(why));
        writeln!(text, "      left out: {tool}: {why}").unwrap_or_default();
    }
    for (tool, flags) in &status.flagged {
        let (tool, flags) = (one_line(tool), flags.join(", "));
        writeln!(text, "      suspicious: the description of {tool}: {flags}").unwrap_or_default();
    }
    if status.health.noise > 0 {
        writeln!(
            text,
            "      {} lines of its output were not messages; the last: {}",
            status.health.noise,
            status.health.last_noise.as_deref().unwrap_or_default()
        )
        .unwrap_or_default();
    }
    text
}
