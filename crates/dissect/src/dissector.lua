local COMMON_LEN, DATA_LEN, SEGMENT_AT, SUPER_LEN, MIN_SEGMENT = 28, 56, 52, 1480, 256
local DATA = 16

local homa = Proto("homa", "Homa Transport Protocol")
local homa_udp = Proto("homa_udp", "Homa inside UDP")

local rpc_field = ProtoField.uint64("homa.rpc", "RPC id of the client", base.DEC)
local start_field = ProtoField.uint32("homa.start", "First byte in the message", base.DEC)
local payload_field = ProtoField.bytes("homa.payload", "Payload")
local payload_length_field = ProtoField.uint32("homa.payload_length", "Bytes of payload", base.DEC)
local all = { rpc_field, start_field, payload_field, payload_length_field }
for _, one in ipairs(protofields) do all[#all + 1] = one end
homa.fields = all

local malformed = ProtoExpert.new("homa.malformed", "Not a Homa packet", expert.group.MALFORMED, expert.severity.ERROR)
local too_many = ProtoExpert.new("homa.trailing", "Bytes after a control packet", expert.group.PROTOCOL, expert.severity.WARN)
local beyond = ProtoExpert.new("homa.beyond", "Payload beyond the message's end", expert.group.PROTOCOL, expert.severity.WARN)
homa.experts = { malformed, too_many, beyond }

-- Durations as `homarus dissect` writes them.
local function nanos(ns)
    if ns < 1e3 then return string.format("%d ns", ns) end
    if ns < 1e6 then return string.format("%.1f us", ns / 1e3) end
    if ns < 1e9 then return string.format("%.2f ms", ns / 1e6) end
    return string.format("%.3f s", ns / 1e9)
end

local function flag_names(flags, value)
    local names = {}
    for _, flag in ipairs(flags) do
        if bit32.band(value, flag[1]) ~= 0 then names[#names + 1] = flag[2] end
    end
    return table.concat(names, " ")
end

-- A field's value as the line about a packet shows it, and whether it is zero.
local function value_of(field, range)
    if field.width == 8 then
        local value = range:uint64()
        return tostring(value), value == UInt64(0)
    end
    local value = range:uint()
    local text = tostring(value)
    if field.kind == "signed" then text = tostring(range:int()) end
    if field.kind == "hex" then text = string.format("0x%0" .. 2 * field.width .. "x", value) end
    if field.kind == "named" then text = field.names[value] or text end
    if field.kind == "flags" then text = flag_names(field.flags, value) end
    if field.kind == "round_trip" then text = nanos(math.floor(100 * 2 ^ (value / 8))) end
    return text, value == 0
end

local function add_field(tree, field, tvb)
    local range = tvb(field.offset, field.width)
    local item = tree:add(field.proto, range)
    if field.kind == "flags" then
        for _, flag in ipairs(field.flags) do item:add(flag[3], range) end
    elseif field.kind == "round_trip" and range:uint() > 0 then
        item:append_text(" (" .. nanos(math.floor(100 * 2 ^ (range:uint() / 8))) .. ")")
    end
end

-- Which message a packet is about.
local function message_of(kind, from_client)
    if kind == DATA then return from_client and " request" or " response" end
    if kind == 17 or kind == 18 then return from_client and " response" or " request" end
    return ""
end

local function data_start(tvb)
    if tvb(52, 4):int() == -1 then return tvb(4, 4):uint() end
    return tvb(52, 4):uint()
end

-- One packet of `wire_len` bytes; returns what the Info column says of it.
local function dissect_one(tvb, tree, wire_len)
    local captured = tvb:len()
    local branch = tree:add(homa, tvb(0, math.min(captured, wire_len)))
    local function fails(why)
        branch:add_proto_expert_info(malformed, why)
        return "MALFORMED"
    end
    if captured < COMMON_LEN then
        if captured < wire_len then return "cut by the capture" end
        return fails("shorter than any Homa packet")
    end
    local kind = tvb(11, 1):uint()
    local own = own_fields[kind]
    if not own then return fails("unknown packet type") end
    local sender = tvb(20, 8):uint64()
    local from_client = sender:band(UInt64(1)) == UInt64(0)
    local rpc = sender:band(UInt64(0xfffffffe, 0xffffffff))
    local info = types[kind] .. " rpc " .. tostring(rpc) .. message_of(kind, from_client)
    if captured < header_len[kind] then
        if captured < wire_len then return info .. " (cut by the capture)" end
        return fails("shorter than its type requires")
    end
    for _, field in ipairs(common_fields) do add_field(branch, field, tvb) end
    for _, field in ipairs(own) do add_field(branch, field, tvb) end
    branch:add(rpc_field, tvb(20, 8), rpc):set_generated()
    if kind == DATA then
        local start, length = data_start(tvb), wire_len - DATA_LEN
        branch:add(start_field, start):set_generated()
        branch:add(payload_length_field, length):set_generated()
        if captured > DATA_LEN then branch:add(payload_field, tvb(DATA_LEN)) end
        info = info .. " " .. start .. ".." .. start + length
        if start + length > tvb(28, 4):uint() then branch:add_proto_expert_info(beyond) end
    elseif wire_len > header_len[kind] then
        branch:add_proto_expert_info(too_many)
    end
    for _, field in ipairs(own) do
        if field.words then
            local text, is_zero = value_of(field, tvb(field.offset, field.width))
            if field.always or not is_zero then
                info = info .. " " .. (field.words == "" and text or field.words .. " " .. text)
            end
        end
    end
    branch:append_text(", " .. info)
    return info
end

local function is_plausible(tvb, at)
    if tvb:len() < at + COMMON_LEN then return false end
    local kind, doff = tvb(at + 11, 1):uint(), tvb(at + 12, 1):uint()
    if not own_fields[kind] then return false end
    local fits = doff == 0x50
    if kind == DATA then fits = doff == 0xe0 or doff == 0xd0 end
    local flags, urgent = tvb(at + 13, 1):uint(), tvb(at + 18, 2):uint()
    return fits and tvb(at, 2):uint() ~= 0 and tvb(at + 2, 2):uint() ~= 0 and tvb(at + 8, 3):uint() == 0
        and (flags == 0 or flags == 6) and tvb(at + 14, 2):uint() == 0 and (urgent == 0 or urgent == 0xb97d)
end

-- Bytes of the packet at the start of what is left of a datagram.
local function first_len(tvb, left)
    if tvb:len() < COMMON_LEN then return left end
    local kind = tvb(11, 1):uint()
    if not own_fields[kind] then return left end
    if kind ~= DATA then return math.min(left, header_len[kind]) end
    if tvb:len() < DATA_LEN or data_start(tvb) ~= 0 then return left end
    return math.min(left, DATA_LEN + tvb(28, 4):uint())
end

-- Where the next header for the same ports stands in a DATA packet, if a device was still to cut the datagram.
local function next_header(tvb, length)
    if tvb:len() < DATA_LEN or tvb(11, 1):uint() ~= DATA then return nil end
    local raw = tvb:raw(0, math.min(length, tvb:len()))
    local ports, at = string.sub(raw, 1, 4), DATA_LEN + 1
    while true do
        at = string.find(raw, ports, at + 1, true)
        if not at or at - 1 + COMMON_LEN > #raw then return nil end
        if is_plausible(tvb, at - 1) then return at - 1 end
    end
end

local function dissect_datagram(tvb, pinfo, tree)
    local wire_len, at, infos = tvb:reported_len(), 0, {}
    while at < tvb:len() do
        local rest = tvb(at):tvb()
        local length = first_len(rest, wire_len - at)
        if wire_len > SUPER_LEN then length = next_header(rest, length) or length end
        length = math.max(length, 1)
        local one = rest
        if length < rest:len() then one = rest(0, length):tvb() end
        infos[#infos + 1] = dissect_one(one, tree, length)
        at = at + length
    end
    pinfo.cols.protocol = "Homa/UDP"
    pinfo.cols.info = table.concat(infos, " | ")
end

-- Bytes in each piece of a long packet that a device was still to cut, or nil.
local function segment_size(tvb, wire_len)
    if wire_len <= SUPER_LEN or tvb:len() < DATA_LEN or tvb(11, 1):uint() ~= DATA or tvb(12, 1):uint() ~= 0xd0 then
        return nil
    end
    local first = tvb(SEGMENT_AT, 4):uint()
    for size = MIN_SEGMENT, tvb:len() - SEGMENT_AT - 8 do
        local step, index, agrees = size + 4, 1, true
        local count = math.ceil((wire_len - SEGMENT_AT) / step)
        if wire_len - SEGMENT_AT - (count - 1) * step <= 4 then agrees = false end
        while agrees and index < count do
            local at = SEGMENT_AT + index * step
            if at + 4 > tvb:len() then break end
            agrees = tvb(at, 4):uint() == first + index * size
            index = index + 1
        end
        if agrees then return size end
    end
    return nil
end

function homa.dissector(tvb, pinfo, tree)
    local wire_len, infos = tvb:reported_len(), {}
    local size = segment_size(tvb, wire_len)
    if size then
        for at = SEGMENT_AT, wire_len - 1, size + 4 do
            local length = math.min(size + 4, wire_len - at)
            local bytes = tvb(0, SEGMENT_AT):bytes()
            if at < tvb:len() then bytes:append(tvb(at, math.min(length, tvb:len() - at)):bytes()) end
            infos[#infos + 1] = dissect_one(bytes:tvb("Homa segment"), tree, SEGMENT_AT + length)
        end
    else
        infos[1] = dissect_one(tvb, tree, wire_len)
    end
    pinfo.cols.protocol = "Homa"
    pinfo.cols.info = table.concat(infos, " | ")
end

function homa_udp.dissector(tvb, pinfo, tree)
    dissect_datagram(tvb, pinfo, tree)
end

homa_udp:register_heuristic("udp", function(tvb, pinfo, tree)
    if not is_plausible(tvb, 0) then return false end
    dissect_datagram(tvb, pinfo, tree)
    return true
end)
DissectorTable.get("ip.proto"):add(146, homa)
DissectorTable.get("udp.port"):add_for_decode_as(homa_udp)
