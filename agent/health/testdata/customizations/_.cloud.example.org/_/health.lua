local health_status = {status = "Progressing", message = "provisioning"}

local function contains(list, value)
  for _, v in ipairs(list) do
    if v == value then return true end
  end
  return false
end

if obj.status == nil or next(obj.status) == nil then
  return health_status
end

for i, condition in ipairs(obj.status.conditions or {}) do
  if obj.metadata.generation ~= nil and condition.observedGeneration ~= nil and condition.observedGeneration < obj.metadata.generation then
    goto continue
  end
  if contains({"Synced", "Finished"}, condition.type) and condition.status == "False" then
    return {status = "Degraded", message = condition.message}
  end
  if contains({"Ready", "Offered"}, condition.type) and condition.status == "True" then
    health_status.status = "Healthy"
    health_status.message = "up to date"
  end
  ::continue::
end
return health_status
