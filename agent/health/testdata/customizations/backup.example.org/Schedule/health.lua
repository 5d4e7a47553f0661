hs = {}
if obj.status == nil or obj.status.lastRun == nil then
  hs.status = "Progressing"
  hs.message = "no run yet"
  return hs
end

-- two moments, compared as numbers
local function seconds(text)
  local year, month, day, hour, min, sec = string.match(text, "(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)Z")
  if year == nil then
    return math.huge
  end
  return os.time({year = year, month = month, day = day, hour = hour, min = min, sec = sec})
end

if obj.status.running ~= nil and table.getn(obj.status.running) > 0 then
  hs.status = "Progressing"
  hs.message = string.format("%d running", #obj.status.running)
elseif obj.status.lastSuccess == nil or seconds(obj.status.lastSuccess) < seconds(obj.status.lastRun) then
  hs.status = "Degraded"
  hs.message = "the last run failed"
else
  hs.status = "Healthy"
  hs.message = "the last run was at " .. obj.status.lastRun:gsub("T.*$", "")
end
return hs
