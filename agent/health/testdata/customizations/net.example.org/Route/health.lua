local bad, parents = {}, {}
if obj.status ~= nil and type(obj.status.parents) == "table" then
  for _, parent in pairs(obj.status.parents) do
    local name = parent.parentRef and parent.parentRef.name or "?"
    table.insert(parents, name)
    for _, condition in ipairs(parent.conditions or {}) do
      if condition.status ~= "True" then
        if condition.reason == nil or string.len(condition.reason) == 0 then
          error("a condition without a reason")
        end
        bad[#bad + 1] = name .. ": " .. condition.reason
      end
    end
  end
end
if #parents == 0 then
  return {status = "Progressing", message = "no parents"}
end
table.sort(bad, function(a, b) return a < b end)
table.sort(parents)
if #bad > 0 then
  return {status = "Degraded", message = table.concat(bad, ", ")}
end
return {status = "Healthy", message = "accepted by " .. table.concat(parents, " and ")}
