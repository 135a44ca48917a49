//! Builds the command line that runs a segment of the session again: the target, and the load settings as
//! options.
//!
//! ```text
//! redyno -p 6380 -c 200 -P 16 --workload cache -d 32 -r 10000
//! ```
//! A note lists the settings that no option can express: `after CONFIG SET hz 100`. The note is shown but not copied,
//! because some shells run a comment. The command line never includes a password.

use std::sync::Arc;

use super::{CommandPrefix, Effect, InputMode, Model, Tone};
use crate::{
    endpoint::quoted,
    knobs::{Arrivals, Knob, Knobs},
    print::ParameterChanges,
    session::{Encryption, ServerIdentity},
    workload::{Workload, WorkloadChoice, presets},
};

impl CommandPrefix {
    /// Returns the program with the target and the fixed options that the recording contains. Returns `None`
    /// if the recording lacks a part of the target: the path of an HTTP server, or the addresses of all
    /// Sentinels.
    fn of_recording(server: &ServerIdentity) -> Option<Self> {
        let mut words = "redyno".to_owned();
        if !server.built_in {
            let ServerIdentity { address, server: name, mode, .. } = server;
            let is_memcached = name.starts_with("memcached ");
            let is_http = mode.is_empty() && !name.is_empty() && !is_memcached;
            words += &match address.rsplit_once(':') {
                _ if is_http || address.contains(" (Sentinel ") => return None,
                _ if is_memcached && address.starts_with('/') => {
                    format!(" -u {}", quoted(&format!("memcached+unix://{address}")))
                }
                _ if is_memcached => format!(" -u {}", quoted(&format!("memcached://{address}"))),
                Some((host, port)) if !host.contains('/') => {
                    let host = host.trim_start_matches('[').trim_end_matches(']');
                    format!(" -h {} -p {}", quoted(host), quoted(port))
                }
                _ => format!(" -s {}", quoted(address)),
            };
            words += match server.tls {
                Encryption::None => "",
                Encryption::Verified => " --tls",
                Encryption::CaOnly => " --tls --tls-ca-only",
                Encryption::Unverified => " --tls --insecure",
            };
        }
        Some(Self { words, ..Self::default() })
    }
}

/// Returns the knobs as command line options. Returns `None` if no option can name the workload.
fn options(knobs: &Knobs) -> Option<String> {
    if !knobs.load {
        return Some("--no-load".to_owned());
    }
    let mut text = format!("-c {} -P {}{}", knobs.clients, knobs.pipeline, pace(knobs));
    for (name, value) in Knob::changed_alone(&Knobs::default(), knobs) {
        text += &format!(" --{name} {}", quoted(&value));
    }
    if let Some(trace) = &knobs.workload.trace {
        return Some(text + &format!(" --trace {}", quoted(&trace.times.file.to_string_lossy())));
    }
    if let Some(times) =
        knobs.times.as_ref().filter(|_| knobs.rate.is_some() && knobs.arrivals == Arrivals::Times)
    {
        text += &format!(" --times {}", quoted(&times.file.to_string_lossy()));
    }
    text += &workload(&knobs.workload)?;
    Some(text + &format!(" -d {} -r {}", knobs.value_size, knobs.keyspace))
}

/// Returns the options for the rate and the arrivals. A trace, a file with times and some presets define the
/// rate themselves.
fn pace(knobs: &Knobs) -> String {
    let is_trace = knobs.workload.trace.is_some();
    let Some(rate) = knobs.rate else {
        let preset = WorkloadChoice::of_preset(&knobs.workload.name);
        let has_rate = is_trace || preset.is_ok_and(|preset| preset.load.rate.is_some());
        return if has_rate { " --rate max" } else { "" }.to_owned();
    };
    if let (Arrivals::Times, Some(times)) = (knobs.arrivals, &knobs.times) {
        // Without --speed, a rate that was rounded would give another speed.
        let is_as_recorded = times.speed_at(times.rate()) == 1.0;
        let speed = || format!(" --speed {}", times.speed_at(rate));
        return if is_as_recorded { format!(" --rate {rate}") } else { speed() };
    }
    let usual = if is_trace { Arrivals::Times } else { Arrivals::default() };
    let arrivals = Some(knobs.arrivals).filter(|arrivals| *arrivals != usual);
    let arrivals = arrivals.map(|arrivals| format!(" --arrivals {}", quoted(&arrivals.to_string())));
    format!(" --rate {rate}{}", arrivals.unwrap_or_default())
}

fn workload(asked: &Workload) -> Option<String> {
    let is_same = |known: &Workload| {
        let receivers = asked.receiver_count().and_then(|count| known.with_receivers(count).ok()?.receivers);
        known.is_like(asked) && receivers == asked.receivers
    };
    let weight = |name: &str| asked.place(name).map_or(0, |place| asked.operations[place].weight);
    let (set, get) = (weight("SET"), weight("GET"));
    let ratio = (Workload::ratio(set, get), format!(" --ratio {set}:{get}"));
    let presets = presets().map(|preset| (Arc::clone(preset), format!(" --workload {}", preset.name)));
    let known: Vec<_> = presets.chain([ratio]).collect();
    let (known, option) = match known.iter().find(|(known, _)| is_same(known)) {
        Some((known, option)) => (known, option.clone()),
        None => {
            let drawn = asked.keys.values().next()?.distribution;
            let (known, option) = known.iter().find(|(known, _)| is_same(&known.with_distribution(drawn)))?;
            (known, format!("{option} --distribution {}", quoted(&drawn.to_string())))
        }
    };
    let receivers = asked.receiver_count().filter(|_| known.receiver_count() != asked.receiver_count());
    let receivers = receivers.map_or_else(String::new, |count| format!(" --receivers {count}"));
    Some(option + &receivers + prefill(known, asked)?)
}

/// Returns the option that gives the `known` workload the same prefill as the `asked` workload. Empty if the prefills
/// are equal.
fn prefill(known: &Workload, asked: &Workload) -> Option<&'static str> {
    if known.prefill == asked.prefill {
        return Some("");
    }
    if asked.prefill.is_empty() {
        return Some(" --no-prefill");
    }
    known.with_prefill().is_ok_and(|known| known.prefill == asked.prefill).then_some(" --prefill")
}

impl Model {
    /// Returns the command line that would run the shown segment again, and its note.
    ///
    /// # Errors
    /// Returns a message if no command line can run the segment again.
    fn command_line(&self) -> Result<(String, String), String> {
        let shown = self.tracks[0].reading(self.figures_view());
        let current = shown.segment().ok_or("there is no segment yet")?;
        let knobs = &current.start.knobs;
        let recorded = self.timeline().session().filter(|_| self.playback.is_some());
        let program = match recorded {
            None => self.program.clone(),
            Some(session) => CommandPrefix::of_recording(&session.target).ok_or(
                "the command line needs the URI of the server, but the recording does not contain this URI",
            )?,
        };
        if knobs.load && knobs.rate.is_some() && knobs.arrivals == Arrivals::Times && knobs.times.is_none() {
            return Err("this load needs the times in the file of --times, but a recording does not contain these times"
                .to_owned());
        }
        let options = options(knobs)
            .ok_or_else(|| format!("the command line has no option for the workload {}", knobs.workload))?;
        let mut set = ParameterChanges::default();
        let until = self.tracks[0].segments().iter().filter(|s| s.start.segment <= current.start.segment);
        until.for_each(|segment| set.take(&segment.start));
        // A recording may come from others, so its words are quoted, in case that a shell gets the note.
        let set = set.since(&ParameterChanges::default()).into_iter();
        let set = set.map(|(name, to)| format!("after CONFIG SET {} {}", quoted(name), quoted(to)));
        let password = program.has_password.then(|| "the password in REDISCLI_AUTH".to_owned());
        let note: Vec<_> = set.chain(password).collect();
        Ok((format!("{} {options}", program.words), note.join(", ")))
    }

    /// Shows the command line, and copies the command line to the clipboard.
    pub(super) fn copy_command_line(&mut self) {
        match self.command_line() {
            Ok((text, note)) => {
                self.mode = InputMode::CommandLine { text: text.clone(), note };
                self.request(Effect::Copy { what: "the command line", text });
            }
            Err(why) => self.show_message(Tone::Warning, why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Key, KeyCode, Msg, Playback, update},
        server::ConfigChange,
        session::{Host, Record, Segment, SessionStart, TimelineOptions},
        workload::preset,
    };

    fn copied(model: &mut Model) -> Option<String> {
        match update(model, Msg::Key(Key::plain(KeyCode::Char('Y')))).pop()? {
            Effect::Copy { text, .. } => Some(text),
            other => panic!("{other:?}"),
        }
    }

    fn begin(model: &mut Model, segment: u32, knobs: Knobs, config: Option<ConfigChange>) {
        let t_s = f64::from(segment);
        model.push(&Record::Segment(Segment { config, ..Segment::new(t_s, segment, knobs) }));
    }

    #[test]
    fn a_segment_is_written_as_options_with_set_parameters_in_a_note() {
        let program = CommandPrefix {
            words: "redyno -p 6380 --db 3".to_owned(),
            has_password: true,
            ..CommandPrefix::default()
        };
        let mut model = Model { program, ..Model::new(Knobs::default(), TimelineOptions::default()) };
        assert_eq!(copied(&mut model), None);
        assert_eq!(model.message().unwrap().text, "there is no segment yet");
        let open = Knobs { load: true, rate: Some(5000), arrivals: Arrivals::Poisson, ..Knobs::default() };
        let knobs = Knobs { reconnect: Some(9), ..open };
        begin(&mut model, 1, knobs.clone(), None);
        let set = ConfigChange { name: "hz".to_owned(), from: "10".to_owned(), to: "100; date".to_owned() };
        begin(&mut model, 2, knobs, Some(set));
        let expected = "redyno -p 6380 --db 3 -c 50 -P 1 --rate 5000 --arrivals poisson --reconnect 9 --workload cache -d 32 -r 10000";
        assert_eq!(copied(&mut model).as_deref(), Some(expected));
        let note = "after CONFIG SET hz '100; date', the password in REDISCLI_AUTH".to_owned();
        let shown = InputMode::CommandLine { text: expected.to_owned(), note };
        assert_eq!(model.mode, shown, "it is shown as well");
        update(&mut model, Msg::Key(Key::plain(KeyCode::Esc)));
        assert_eq!(model.mode, InputMode::Screen);
    }

    #[test]
    fn times_of_a_file_are_written_only_while_they_are_used() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0.1\n0.2\n").unwrap();
        let times = crate::workload::DueTimes::read(file.path(), 1.0).ok();
        let timed = Knobs { load: true, rate: Some(9), arrivals: Arrivals::Times, times, ..Knobs::default() };
        let shown = |knobs: &Knobs| options(knobs).unwrap().contains("--times");
        assert!(shown(&timed));
        assert!(!shown(&Knobs { arrivals: Arrivals::Constant, ..timed.clone() }));
        assert!(!shown(&Knobs { rate: None, ..timed.clone() }));
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        begin(&mut model, 1, Knobs { times: None, ..timed }, None);
        assert_eq!(copied(&mut model), None);
        assert!(model.message().unwrap().text.starts_with("this load needs the times"));
    }

    #[test]
    fn the_pace_of_a_trace_or_of_a_preset_with_a_rate_is_written_as_it_is_and_not_as_it_would_be() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |second| format!("170000000{second}.000000 [0 127.0.0.1:5000] \"GET\" \"a\"\n");
        std::fs::write(file.path(), line(1) + &line(4)).unwrap();
        let read =
            |speed| Workload::of_trace(file.path(), speed, crate::workload::TraceOrder::OfFile).unwrap();
        let traced = |speed, rate, arrivals| {
            let workload: Arc<_> = read(speed).into();
            let times = workload.trace.as_ref().map(|trace| trace.times.clone());
            options(&Knobs { load: true, rate, arrivals, times, workload, ..Knobs::default() }).unwrap()
        };
        let end = format!(" --trace {}", quoted(&file.path().to_string_lossy()));
        for (speed, rate, arrivals, expected) in [
            (1.0, Some(1), Arrivals::Times, " --rate 1"),
            (2.0, Some(1), Arrivals::Times, " --speed 2"),
            (2.0, Some(3), Arrivals::Times, " --speed 6"),
            (1.0, Some(9), Arrivals::Constant, " --rate 9 --arrivals constant"),
            (1.0, Some(9), Arrivals::Poisson, " --rate 9 --arrivals poisson"),
            (1.0, None, Arrivals::Times, " --rate max"),
        ] {
            assert_eq!(traced(speed, rate, arrivals), format!("-c 50 -P 1{expected}{end}"));
        }
        let workload = preset("queue").unwrap();
        let knobs = Knobs { load: true, workload, ..Knobs::default() };
        assert!(options(&knobs).unwrap().starts_with("-c 50 -P 1 --rate max --workload queue"));
    }

    #[test]
    fn every_workload_is_written_as_the_option_that_selects_it() {
        let options = |asked: &Workload| workload(asked).unwrap_or_default();
        for known in presets() {
            assert_eq!(options(known), format!(" --workload {}", known.name));
        }
        assert_eq!(options(&Workload::ratio(3, 7)), " --ratio 3:7");
        assert_eq!(options(&preset("cache").unwrap().with_read_percent(25)), " --ratio 3:1");
        let filled = preset("get").unwrap().with_prefill().unwrap();
        assert_eq!(options(&filled), " --workload get --prefill");
        assert_eq!(options(&filled.without_prefill()), " --workload get");
        let drawn = |by: &str| preset("get").unwrap().with_distribution(by.parse().unwrap());
        assert_eq!(options(&drawn("sequential")), " --workload get --distribution sequential");
        assert_eq!(options(&drawn("zipfian")), " --workload get --distribution 'zipfian 0.99'");
        let mut other = Workload::clone(&Workload::ratio(1, 1));
        other.operations[0].steps = vec!["GETDEL {key}".to_owned()];
        assert_eq!(workload(&other), None);
        let mut other = Workload::clone(&preset("sessions").unwrap());
        other.values.values_mut().for_each(|kind| kind.size = crate::workload::Size::Bytes(77));
        assert_eq!((other.values.is_empty(), workload(&other)), (false, None));
        let mut other = Workload::clone(&preset("get").unwrap());
        other.setup.steps.push("SCRIPT FLUSH".to_owned());
        assert_eq!(workload(&other), None);
    }

    #[test]
    fn a_recordings_command_line_has_its_target_and_nothing_more() {
        let mut model = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
        for (address, server, tls, expected) in [
            ("[::1]:7000", "", Encryption::Unverified, Some("-h ::1 -p 7000 --tls --insecure")),
            ("/run/my redis.sock", "", Encryption::None, Some("-s '/run/my redis.sock'")),
            ("[::1]:7000", "memcached 1.6", Encryption::None, Some("-u 'memcached://[::1]:7000'")),
            ("/run/m.sock", "memcached 1.6", Encryption::None, Some("-u memcached+unix:///run/m.sock")),
            ("10.0.0.1:80", "nginx 1.22", Encryption::None, None),
            ("main (Sentinel 10.0.0.1:26379)", "", Encryption::None, None),
        ] {
            let (address, server) = (address.to_owned(), server.to_owned());
            let target =
                ServerIdentity { address: address.clone(), server, tls, ..ServerIdentity::default() };
            model.push(&Record::Session(SessionStart {
                schema: crate::session::SCHEMA,
                from_s: 0.0,
                tool: "redyno".to_owned(),
                started: String::new(),
                utc_offset_s: None,
                target,
                nodes: std::sync::Arc::default(),
                members: Vec::new(),
                host: Host::default(),
            }));
            begin(&mut model, 1, Knobs::default(), None);
            model.mode = InputMode::Screen;
            let expected = expected.map(|words| format!("redyno {words} --no-load"));
            assert_eq!(copied(&mut model), expected, "{address}");
        }
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        assert_eq!(
            [quoted("a-b_1.sock"), quoted("a b"), quoted("it's"), quoted("")],
            ["a-b_1.sock", "'a b'", r"'it'\''s'", "''"]
        );
    }
}
