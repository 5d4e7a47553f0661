{{- define "agent.binding" -}}{{ if eq .Release.Namespace "axle-system" }}axle-agent{{ else }}{{ .Release.Namespace }}-agent{{ end }}{{- end -}}

{{- define "agent.image" -}}
{{- $registry := .Values.global.registry | default .Values.image.registry | trimSuffix "/" -}}
{{- if $registry }}{{ $registry }}/{{ end }}{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- define "agent.arguments" -}}
{{- $args := list "run" (printf "--hub-url=%s" .Values.hubUrl) "--token-file=/etc/axle/bootstrap/token" -}}
{{- if .Values.caPem }}{{ $args = append $args "--ca-file=/etc/axle/bootstrap/ca.pem" }}{{ end -}}
{{- $args = concat $args (list (printf "--namespace=%s" .Release.Namespace) "--data-dir=/var/lib/axle" "--self-upgrade") -}}
{{- with .Values.pollInterval }}{{ $args = append $args (printf "--poll-interval=%s" .) }}{{ end -}}
{{- if .Values.withoutPeople }}{{ $args = append $args "--proxy=off" }}{{ end -}}
{{- concat $args .Values.args | toJson -}}
{{- end -}}

{{- define "agent.checks" -}}
{{- if not .Values.hubUrl }}{{ fail "hubUrl is empty: set it to the address of the hub, such as --set hubUrl=https://axle.example.com" }}{{ end -}}
{{- if and (not .Values.token) (not .Values.tokenSecret) }}{{ fail "the agent needs a bootstrap token: axle clusters create NAME prints one; set token, or tokenSecret" }}{{ end -}}
{{- if and .Values.token .Values.tokenSecret }}{{ fail "token and tokenSecret exclude each other: set one of them" }}{{ end -}}
{{- if and .Values.caPem .Values.tokenSecret }}{{ fail "caPem goes into the Secret that this chart makes: with tokenSecret, put the authority into its key ca.pem and set args={--ca-file=/etc/axle/bootstrap/ca.pem}" }}{{ end -}}
{{- end -}}
