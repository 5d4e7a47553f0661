local health_status = {status = "Progressing", message = "waiting for replicas"}
local scale = obj.status and obj.status.scale
if scale ~= nil and scale.statusReplicas ~= nil then
  local ready, total = string.match(scale.statusReplicas, "(%d+)/(%d+)")
  if ready ~= nil and tonumber(ready) >= tonumber(total) then
    health_status.status = "Healthy"
    health_status.message = tostring(total) .. " ready"
  elseif ready ~= nil then
    health_status.message = (total - ready) .. " missing"
  end
end
return health_status
