// The service's configuration, its cluster and itself are external variables;
// top level arguments come from the renderer.
local web = import 'web.libsonnet';
local configuration = std.extVar('configuration');

function(replicas=1) {
  deployment: web.deployment('jsonnet-web', replicas),
  config: web.config('jsonnet-web', { color: configuration.color }),
}
