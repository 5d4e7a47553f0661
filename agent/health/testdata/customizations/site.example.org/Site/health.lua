local wait = {"^Updating", "^Waiting", "^Provision"}
local status = obj.status or {}
local phase = status.phase or ""
for _, pattern in ipairs(wait) do
  if phase:find(pattern) then
    return {status = "Progressing", message = phase}
  end
end
for _, condition in ipairs(status.conditions or {}) do
  local text = string.lower(condition.message or "")
  if string.find(text, "quota exceeded", 1, true) then
    return {status = "Degraded", message = string.sub(condition.message, 1, 14)}
  end
end
if obj.spec ~= nil and obj.spec.paused == true then
  return {status = "Suspended", message = "paused"}
end
local least = math.huge
for _, node in pairs(status.nodes or {}) do
  least = math.min(least, node.ready)
end
if not string.match(obj.kind, "Set$") and least ~= math.huge then
  return {status = "Healthy", message = string.format("%d at least, %.1f %s", least, least / 2, phase)}
end
return {status = "Unknown", message = "no nodes"}
