{{- /* What the schema cannot say: values that contradict each other, each with what to set. */ -}}
{{- define "axle.checks" -}}
{{- $v := .Values -}}
{{- if not $v.url }}{{ fail "url is empty: set it to the address at which people and agents reach the hub, such as --set url=https://axle.example.com" }}{{ end -}}
{{- if and (eq $v.shape "ha") (not $v.database.urlSecret.name) (not $v.postgres.trial) }}{{ fail "shape ha needs Postgres: create a Secret with its URL and set database.urlSecret.name, or set postgres.trial=true to try it out" }}{{ end -}}
{{- if and (eq $v.shape "ha") (not $v.hub.keySecret.name) }}{{ fail "shape ha needs one key for all replicas: kubectl create secret generic axle-key --from-literal=hub.key=\"k1 $(openssl rand -hex 32)\", keep a copy of it elsewhere, and set hub.keySecret.name=axle-key" }}{{ end -}}
{{- if and $v.database.urlSecret.name $v.postgres.trial }}{{ fail "postgres.trial and database.urlSecret.name exclude each other: set postgres.trial=false to use your own Postgres" }}{{ end -}}
{{- if and (eq $v.shape "ha") (eq $v.tls.mode "devCA") }}{{ fail "tls.mode devCA makes one authority for each replica and so works with shape small only: set tls.mode to ingress, secret or certManager" }}{{ end -}}
{{- if and (eq $v.tls.mode "secret") (not $v.tls.secretName) }}{{ fail "tls.mode secret needs a Secret of type kubernetes.io/tls: set tls.secretName" }}{{ end -}}
{{- if and (eq $v.tls.mode "certManager") (not $v.tls.issuer.name) }}{{ fail "tls.mode certManager needs an issuer: set tls.issuer.name, and tls.issuer.kind if it is not a ClusterIssuer" }}{{ end -}}
{{- if and (eq $v.tls.mode "devCA") $v.tls.ca.secretName }}{{ fail "tls.mode devCA makes its own authority: leave tls.ca.secretName empty, or set tls.mode=secret" }}{{ end -}}
{{- if and $v.ingress.enabled $v.gateway.enabled }}{{ fail "ingress.enabled and gateway.enabled exclude each other: set one of them to false" }}{{ end -}}
{{- if and $v.gateway.enabled (not $v.gateway.parents) }}{{ fail "gateway.enabled needs the Gateways that the routes belong to: set gateway.parents, such as [{name: public, namespace: gateways}]" }}{{ end -}}
{{- if and $v.gateway.enabled (ne $v.tls.mode "ingress") }}{{ fail "an HTTPRoute sends plain HTTP to the hub: set tls.mode=ingress, and give the certificate to the Gateway's listener" }}{{ end -}}
{{- if and (eq $v.tls.mode "ingress") (hasPrefix "http://" $v.url) }}{{ fail "url begins with http://, so tokens would travel in clear text: set url to https://…, with a certificate at the ingress, or set tls.mode=devCA" }}{{ end -}}
{{- if and (ne $v.tls.mode "ingress") (hasPrefix "http://" $v.url) }}{{ fail (printf "with tls.mode %s the hub speaks HTTPS: set url to https://…" $v.tls.mode) }}{{ end -}}
{{- if and $v.agentsUrl (eq (include "axle.host" $v.agentsUrl) (include "axle.host" $v.url)) }}{{ fail "agentsUrl has the host of url: leave agentsUrl empty, or give agents a host of their own" }}{{ end -}}
{{- if and $v.crds.hook (not $v.operator.enabled) }}{{ fail "crds.hook installs the definitions of what the operator reads: set crds.hook=false when operator.enabled is false" }}{{ end -}}
{{- $b := $v.backup -}}
{{- if and (not $b.to) (or $b.schedule $b.keepFor $b.endpoint $b.region $b.credentialsSecret.name $b.claim) }}{{ fail "backup has settings and no place: set backup.to to a bucket, such as s3://backups/axle, or to a path with backup.claim" }}{{ end -}}
{{- if and (hasPrefix "s3://" $b.to) $b.claim }}{{ fail "backup.to is a bucket, and backup.claim is the volume of a folder: leave one out" }}{{ end -}}
{{- if and (hasPrefix "/" $b.to) (or $b.endpoint $b.region $b.credentialsSecret.name) }}{{ fail "backup.endpoint, backup.region and backup.credentialsSecret are for a bucket: set backup.to to one, such as s3://backups/axle" }}{{ end -}}
{{- if and (hasPrefix "/" $b.to) (not $b.claim) }}{{ fail "backup.to is a path, and the pod has no volume there but the hub's own: set backup.claim to a PersistentVolumeClaim, in shape ha one that several nodes can mount" }}{{ end -}}
{{- $have := lookup "apps/v1" "StatefulSet" .Release.Namespace (include "axle.name" .) -}}
{{- if $have -}}
{{- $container := index $have.spec.template.spec.containers 0 -}}
{{- $env := dict -}}{{- range $container.env }}{{ $_ := set $env .name true }}{{ end -}}
{{- $postgres := ne (include "axle.databaseSecret" .) "" -}}
{{- if and (hasKey $env "AXLE_HUB_DATABASE_URL") (not $postgres) }}{{ fail "the release keeps its data in Postgres, and these values have no database, so the hub would start empty: give the values of this release again (helm get values, or axle upgrade), with database.urlSecret.name" }}{{ end -}}
{{- if and (not (hasKey $env "AXLE_HUB_DATABASE_URL")) $postgres }}{{ fail "the release keeps its data in SQLite on its volume, and these values name a Postgres, so the hub would start empty: move the data first (docs/howto/move-the-hub.md), then uninstall and install with these values" }}{{ end -}}
{{- end -}}
{{- end -}}
