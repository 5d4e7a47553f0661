{{- define "signin-proxy.labels" -}}
app.kubernetes.io/name: signin-proxy
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "signin-proxy.host" -}}
{{ (urlParse .Values.url).host | splitList ":" | first }}
{{- end }}

{{- define "signin-proxy.image" -}}
{{- $i := .Values.image -}}
{{ ((.Values.global).registry) | default $i.registry }}/{{ $i.repository }}{{ if $i.digest }}@{{ $i.digest }}{{ else }}:{{ $i.tag }}{{ end }}
{{- end }}
