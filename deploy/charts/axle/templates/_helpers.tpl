{{- define "axle.name" -}}
{{- if contains "axle" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-axle" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{- define "axle.operator" -}}{{ include "axle.name" . }}-operator{{- end -}}

{{- /* A reference of an image: (dict "root" $ "image" .Values.hub.image). */ -}}
{{- define "axle.image" -}}
{{- $registry := .root.Values.global.registry | default .image.registry | trimSuffix "/" -}}
{{- $path := .image.repository -}}
{{- if $registry }}{{ $path = printf "%s/%s" $registry .image.repository }}{{ end -}}
{{- if .image.digest }}{{ $path }}@{{ .image.digest }}{{ else }}{{ $path }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- /* Labels of an object: (dict "root" $ "part" "hub"). */ -}}
{{- define "axle.labels" -}}
{{ include "axle.selector" . }}
app.kubernetes.io/part-of: axle
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{- define "axle.selector" -}}
app.kubernetes.io/name: axle-{{ .part }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "axle.podSecurity" -}}
runAsNonRoot: true
{{- if not .root.Values.openshift }}
runAsUser: {{ .user | default 65532 }}
runAsGroup: {{ .user | default 65532 }}
fsGroup: {{ .user | default 65532 }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "axle.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* Where a pod may run: (dict "root" $ "values" .Values.hub). */ -}}
{{- define "axle.placement" -}}
{{- with .root.Values.global.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The scheme that the hub's pod itself speaks. */ -}}
{{- define "axle.scheme" -}}{{ if eq .Values.tls.mode "ingress" }}http{{ else }}https{{ end }}{{- end -}}

{{- define "axle.url" -}}{{ .Values.url | trimSuffix "/" }}{{- end -}}
{{- define "axle.agentsUrl" -}}{{ .Values.agentsUrl | default .Values.url | trimSuffix "/" }}{{- end -}}

{{- /* The host of a URL, without port and brackets. */ -}}
{{- define "axle.host" -}}
{{- $rest := regexReplaceAll "^https?://" . "" | trimSuffix "/" -}}
{{- if hasPrefix "[" $rest }}{{ regexReplaceAll "^\\[([^]]*)\\].*$" $rest "${1}" }}{{ else }}{{ regexReplaceAll ":[0-9]+$" $rest "" }}{{ end -}}
{{- end -}}

{{- define "axle.tlsSecret" -}}{{ .Values.tls.secretName | default (printf "%s-tls" (include "axle.name" .)) }}{{- end -}}
{{- define "axle.caConfigMap" -}}{{ include "axle.name" . }}-ca{{- end -}}
{{- define "axle.databaseSecret" -}}{{ if .Values.postgres.trial }}{{ include "axle.name" . }}-postgres{{ else }}{{ .Values.database.urlSecret.name }}{{ end }}{{- end -}}
{{- /* Secrets that no custom resource may name. */ -}}
{{- define "axle.ownSecrets" -}}
{{- $names := list (include "axle.databaseSecret" .) .Values.hub.keySecret.name .Values.hub.valueBackendsSecret.name .Values.hub.loginProvidersSecret.name .Values.backup.credentialsSecret.name .Values.tls.ca.secretName -}}
{{- if has .Values.tls.mode (list "secret" "certManager") }}{{ $names = append $names (include "axle.tlsSecret" .) }}{{ end -}}
{{- $names | compact | uniq | join "," -}}
{{- end -}}

{{- define "axle.adminNamespaces" -}}{{ .Values.operator.adminNamespaces | default (list .Release.Namespace) | join "," }}{{- end -}}
