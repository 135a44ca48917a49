//! CLIENT: who is connected.

use super::{Call, Command, Flags, Outcome};
use crate::clock::SECOND_NS;
use crate::demo::failure::Failure;
use crate::demo::reply::Protocol;
use crate::demo::state::{Closing, Session};

pub(super) const COMMANDS: &[Command] = &[Command::group("client", Flags::NONE, SUBCOMMANDS)];

const SUBCOMMANDS: &[Command] = &[
    Command::new("id", 2, Flags::NONE, id),
    Command::new("list", -2, Flags::ADMIN, list),
    Command::new("info", 2, Flags::NONE, info),
    Command::new("setname", 3, Flags::NONE, setname),
    Command::new("getname", 2, Flags::NONE, getname),
    Command::new("setinfo", 4, Flags::NONE, setinfo),
    Command::new("no-evict", 3, Flags::ADMIN, |call| switch(call, |session, on| session.no_evict = on)),
    Command::new("no-touch", 3, Flags::NONE, |call| switch(call, |session, on| session.no_touch = on)),
    Command::new("kill", -3, Flags::ADMIN, kill),
];

fn id(call: &mut Call<'_>) -> Outcome {
    let id = call.session().id;
    call.reply.integer(id as i64);
    Ok(())
}

fn list(call: &mut Call<'_>) -> Outcome {
    let wanted: Option<Vec<&[u8]>> = match call.arguments.len() {
        2 => None,
        _ if call.is(2, "id") && call.arguments.len() > 3 => Some(call.arguments.from(3).collect()),
        4 if call.is(2, "type") && call.is(3, "normal") => None,
        4 if call.is(2, "type")
            && ["master", "replica", "slave", "pubsub"].iter().any(|kind| call.is(3, kind)) =>
        {
            Some(Vec::new())
        }
        _ => return Err(Failure::Syntax),
    };
    let is_wanted = |session: &&Session| {
        wanted.as_ref().is_none_or(|ids| ids.contains(&session.id.to_string().as_bytes()))
    };
    let mut clients: Vec<&Session> = call.state.clients().filter(is_wanted).collect();
    clients.sort_by_key(|session| session.id);
    let text: String = clients.iter().map(|session| line(call, session)).collect();
    call.reply.verbatim(&text);
    Ok(())
}

fn info(call: &mut Call<'_>) -> Outcome {
    let session = call.session().clone();
    let text = line(call, &session);
    call.reply.verbatim(&text);
    Ok(())
}

/// One client as CLIENT LIST shows it. What the built-in server does not keep (buffers, subscriptions) is left out.
fn line(call: &Call<'_>, session: &Session) -> String {
    let since_s = |then_ns: u64| call.state.now_ns.saturating_sub(then_ns) / SECOND_NS;
    let protocol = if session.protocol == Protocol::Resp3 { 3 } else { 2 };
    format!(
        "id={} addr={} laddr={} name={} age={} idle={} flags={} db={} sub=0 psub=0 ssub=0 multi=-1 events=r cmd={} \
         user=default redir=-1 resp={protocol} lib-name={} lib-ver={} tot-net-in={} tot-net-out={} tot-cmds={}\n",
        session.id,
        session.address,
        session.local_address,
        session.name,
        since_s(session.connected_ns),
        since_s(session.active_ns),
        flags(session),
        session.database,
        session.last_command.map_or("NULL", |id| call.table.full_name(id)),
        session.library[0],
        session.library[1],
        session.bytes_in,
        session.bytes_out,
        session.commands,
    )
}

fn flags(session: &Session) -> &'static str {
    match (session.no_evict, session.no_touch) {
        (false, false) => "N",
        (true, false) => "e",
        (false, true) => "T",
        (true, true) => "eT",
    }
}

fn setname(call: &mut Call<'_>) -> Outcome {
    call.session().name = valid_name(call.argument(2)?)?;
    call.reply.ok();
    Ok(())
}

/// A client's name, which must not break CLIENT LIST.
pub(super) fn valid_name(name: &[u8]) -> Result<String, Failure> {
    visible(name).ok_or_else(|| {
        Failure::other("ERR Client names cannot contain spaces, newlines or special characters.")
    })
}

fn visible(text: &[u8]) -> Option<String> {
    text.iter().all(u8::is_ascii_graphic).then(|| String::from_utf8_lossy(text).into_owned())
}

fn getname(call: &mut Call<'_>) -> Outcome {
    let name = call.session().name.clone();
    call.reply.bulk_or_null((!name.is_empty()).then_some(name.as_bytes()));
    Ok(())
}

fn setinfo(call: &mut Call<'_>) -> Outcome {
    let (attribute, value) = (call.argument(2)?.to_ascii_lowercase(), call.argument(3)?);
    let (index, name) = match attribute.as_slice() {
        b"lib-name" => (0, "lib-name"),
        b"lib-ver" => (1, "lib-ver"),
        other => {
            let option = String::from_utf8_lossy(other).into_owned();
            return Err(Failure::other(format!("ERR Unrecognized option '{option}'")));
        }
    };
    let value = visible(value).ok_or_else(|| {
        Failure::other(format!("ERR {name} cannot contain spaces, newlines or special characters."))
    })?;
    call.session().library[index] = value;
    call.reply.ok();
    Ok(())
}

fn switch(call: &mut Call<'_>, set: fn(&mut Session, bool)) -> Outcome {
    let on = match (call.is(2, "on"), call.is(2, "off")) {
        (true, _) => true,
        (_, true) => false,
        _ => return Err(Failure::Syntax),
    };
    set(call.session(), on);
    call.reply.ok();
    Ok(())
}

/// CLIENT KILL address, or CLIENT KILL with filters ID, ADDR, LADDR and SKIPME.
fn kill(call: &mut Call<'_>) -> Outcome {
    if call.arguments.len() == 3 {
        let address = String::from_utf8_lossy(call.argument(2)?).into_owned();
        if doom(call, |session| session.address == address, false) == 0 {
            return Err(Failure::other("ERR No such client"));
        }
        call.reply.ok();
        return Ok(());
    }
    let (mut id, mut address, mut local, mut skip_me) = (None, None, None, true);
    for index in (2..call.arguments.len()).step_by(2) {
        let value = String::from_utf8_lossy(call.argument(index + 1)?).into_owned();
        if call.is(index, "id") {
            let valid = value.parse::<u64>().ok().filter(|id| *id > 0);
            id = Some(valid.ok_or_else(|| Failure::other("ERR client-id should be greater than 0"))?);
        } else if call.is(index, "addr") {
            address = Some(value);
        } else if call.is(index, "laddr") {
            local = Some(value);
        } else if call.is(index, "skipme") && matches!(value.to_ascii_lowercase().as_str(), "yes" | "no") {
            skip_me = value.eq_ignore_ascii_case("yes");
        } else {
            return Err(Failure::Syntax);
        }
    }
    let wanted = |session: &Session| {
        id.is_none_or(|id| session.id == id)
            && address.as_ref().is_none_or(|address| session.address == *address)
            && local.as_ref().is_none_or(|local| session.local_address == *local)
    };
    let killed = doom(call, wanted, skip_me);
    call.reply.count(killed);
    Ok(())
}

/// Marks clients to be closed; the one that asks still gets its reply.
fn doom(call: &mut Call<'_>, wanted: impl Fn(&Session) -> bool, skip_me: bool) -> usize {
    let mut killed = 0;
    for (slot, session) in call.state.sessions.iter_mut().enumerate() {
        let Some(session) = session.as_mut().filter(|session| wanted(session)) else { continue };
        if slot == call.slot {
            if !skip_me {
                session.closing = session.closing.max(Closing::AfterReplies);
                killed += 1;
            }
        } else {
            session.closing = Closing::Now;
            call.state.doomed.push_back((slot, session.id));
            killed += 1;
        }
    }
    killed
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn clients_are_listed_with_what_they_told_of_themselves() {
        let mut desk = Desk::new();
        let other = desk.connect();
        desk.ok("CLIENT SETNAME probe");
        desk.ok("CLIENT SETINFO LIB-NAME redyno");
        desk.ok("CLIENT NO-EVICT on");
        desk.ok("SELECT 3");
        assert_eq!(desk.ask_as(other, "CLIENT ID"), ":2\n");
        let list = desk.ask("CLIENT LIST");
        let lines: Vec<&str> = list.lines().filter(|line| line.starts_with("id=")).collect();
        assert_eq!(lines.len(), 2);
        for field in [
            "addr=127.0.0.1:50000 ",
            " name=probe ",
            " flags=e ",
            " db=3 ",
            " cmd=client|list ",
            " lib-name=redyno ",
        ] {
            assert!(lines[0].contains(field), "{field} is not in {}", lines[0]);
        }
        assert!(lines[1].contains("cmd=client|id "), "{}", lines[1]);
        assert!(desk.ask("CLIENT INFO").contains("id=1 "));
        assert!(!desk.ask("CLIENT LIST ID 2").contains("id=1 "));
        assert_eq!(desk.ask("CLIENT LIST TYPE pubsub"), "$0\n\n");
    }

    #[test]
    fn clients_are_killed_by_id_or_address() {
        let mut desk = Desk::new();
        let (second, third) = (desk.connect(), desk.connect());
        assert_eq!(desk.ask("CLIENT KILL ID 2"), ":1\n");
        desk.ok("CLIENT KILL 127.0.0.1:50002");
        assert_eq!(desk.engine.state.doomed, [(second, 2), (third, 3)]);
        assert_eq!(desk.ask("CLIENT KILL ID 1"), ":0\n", "SKIPME is on by default");
        assert_eq!(desk.ask("CLIENT KILL 1.2.3.4:5"), "-ERR No such client\n");
        assert_eq!(desk.ask("CLIENT KILL ID 0"), "-ERR client-id should be greater than 0\n");
        assert_eq!(desk.ask("CLIENT KILL FOO bar"), "-ERR syntax error\n");
    }

    #[test]
    fn what_would_break_the_list_is_refused() {
        let mut desk = Desk::new();
        assert!(desk.ask("CLIENT SETNAME 'a b'").starts_with("-ERR Client names cannot contain spaces"));
        assert!(desk.ask("CLIENT SETINFO lib-ver 'a b'").starts_with("-ERR lib-ver cannot contain spaces"));
        assert_eq!(desk.ask("CLIENT SETINFO foo a"), "-ERR Unrecognized option 'foo'\n");
        assert_eq!(desk.ask("CLIENT foo"), "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\n");
        assert_eq!(desk.ask("CLIENT"), "-ERR wrong number of arguments for 'client' command\n");
        assert_eq!(desk.ask("CLIENT KILL"), "-ERR wrong number of arguments for 'client|kill' command\n");
        assert_eq!(desk.ask("CLIENT GETNAME"), "$-1\n");
    }
}
