use crate::table::{Brief, COMMON, Field, Kind, TYPES, own_fields, type_name, types};
use homarus_proto::wire::PacketType;
use std::collections::HashSet;
use std::fmt::Write;

/// What does not depend on the table of fields.
const BODY: &str = include_str!("dissector.lua");

/// A dissector for Wireshark and tshark, in Lua: all of the [table](crate::table), on IP protocol 146 and inside UDP.
pub fn dissector() -> String {
    let mut lua = String::from(
        "-- Homa for Wireshark: tshark -X lua_script:homa.lua, or put it into the folder of personal Lua plugins.\n\
         -- Made by `homarus dissect --lua` from homarus's table of fields; change that, not this file.\n\n",
    );
    lua += &format!("local types = {}\n", names(&TYPES));
    lua += "local header_len = {";
    for kind in types() {
        put(&mut lua, format_args!(" [{}] = {},", kind as u8, kind.header_len()));
    }
    lua += " }\n\nlocal protofields, by_name = {}, {}\n\
            local function register(name, field)\n    protofields[#protofields + 1] = field\n    by_name[name] = field\n\
            end\n";
    let mut registered = HashSet::new();
    for field in COMMON.iter().chain(types().flat_map(own_fields)) {
        if registered.insert(field.name) {
            register(&mut lua, field);
        }
    }
    lua += "\nlocal common_fields = {\n";
    COMMON.iter().for_each(|field| row(&mut lua, field));
    lua += "}\nlocal own_fields = {}\n";
    for kind in types() {
        own(&mut lua, kind);
    }
    lua + "\n" + BODY
}

fn own(lua: &mut String, kind: PacketType) {
    put(lua, format_args!("own_fields[{}] = {{ -- {}\n", kind as u8, type_name(kind)));
    own_fields(kind).iter().for_each(|field| row(lua, field));
    lua.push_str("}\n");
}

/// Makes a field known to Wireshark, with one for each of its flags.
fn register(lua: &mut String, field: &Field) {
    let (kind, base, strings) = match (field.kind, field.width) {
        (Kind::Bytes, _) => ("bytes", "base.NONE", None),
        (Kind::Signed, width) => (["", "int8", "int16", "", "int32"][width.min(4)], "base.DEC", None),
        (Kind::Hex | Kind::Flags(_), width) => (unsigned(width), "base.HEX", None),
        (Kind::Named(values), width) => (unsigned(width), "base.DEC", Some(names(values))),
        (Kind::Number | Kind::RoundTrip, width) => (unsigned(width), "base.DEC", None),
    };
    let name = field.name;
    let label = quote(&name.replace(['_', '.'], " "));
    let meaning = quote(field.meaning);
    if kind == "bytes" {
        put(lua, format_args!("register(\"{name}\", ProtoField.bytes(\"homa.{name}\", {label}, {base}, {meaning}))\n"));
        return;
    }
    let strings = strings.unwrap_or_else(|| "nil".to_owned());
    put(
        lua,
        format_args!(
            "register(\"{name}\", ProtoField.{kind}(\"homa.{name}\", {label}, {base}, {strings}, nil, {meaning}))\n"
        ),
    );
    if let Kind::Flags(flags) = field.kind {
        for (mask, flag, meaning) in flags {
            let (label, meaning) = (quote(flag), quote(meaning));
            put(
                lua,
                format_args!(
                    "register(\"{name}.{flag}\", ProtoField.bool(\"homa.{name}.{flag}\", {label}, {}, nil, 0x{mask:x}, \
                     {meaning}))\n",
                    8 * field.width
                ),
            );
        }
    }
}

fn unsigned(width: usize) -> &'static str {
    match width {
        1 => "uint8",
        2 => "uint16",
        3 => "uint24",
        4 => "uint32",
        _ => "uint64",
    }
}

/// A field's place and how the Info column shows it.
fn row(lua: &mut String, field: &Field) {
    let Field { name, offset, width, .. } = field;
    put(lua, format_args!("    {{ proto = by_name[\"{name}\"], offset = {offset}, width = {width}"));
    match field.kind {
        Kind::Number | Kind::Bytes => {}
        Kind::Signed => lua.push_str(", kind = \"signed\""),
        Kind::Hex => lua.push_str(", kind = \"hex\""),
        Kind::RoundTrip => lua.push_str(", kind = \"round_trip\""),
        Kind::Named(values) => put(lua, format_args!(", kind = \"named\", names = {}", names(values))),
        Kind::Flags(flags) => {
            lua.push_str(", kind = \"flags\", flags = {");
            for (mask, flag, _) in flags {
                put(lua, format_args!(" {{ 0x{mask:x}, \"{flag}\", by_name[\"{name}.{flag}\"] }},"));
            }
            lua.push_str(" }");
        }
    }
    match field.brief {
        Brief::No => {}
        Brief::Always(words) => put(lua, format_args!(", words = {}, always = true", quote(words))),
        Brief::NotZero(words) => put(lua, format_args!(", words = {}", quote(words))),
    }
    lua.push_str(" },\n");
}

fn names(values: &[(u64, &str)]) -> String {
    let values: Vec<String> = values.iter().map(|(value, name)| format!("[{value}] = {}", quote(name))).collect();
    format!("{{ {} }}", values.join(", "))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Writing into a string cannot fail.
fn put(lua: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = lua.write_fmt(text);
}
