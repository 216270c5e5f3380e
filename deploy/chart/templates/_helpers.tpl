{{/* The labels that selectors have: those of a Deployment cannot be changed. */}}
{{- define "intact.selector" -}}
app.kubernetes.io/name: intact
{{- end }}

{{/* The labels of an object, for a list of the root, its component and its name. */}}
{{- define "intact.labels" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.labels }}
{{- toYaml . }}
{{ end -}}
app.kubernetes.io/name: {{ index . 2 }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/part-of: intact
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "intact.image" -}}
{{ .Values.image | default (printf "intact:%s" .Chart.AppVersion) }}
{{- end }}

{{/* What the pods of the Deployment and of the hook share. */}}
{{- define "intact.podSettings" -}}
securityContext:
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{- define "intact.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
capabilities:
  drop: [ALL]
{{- end }}
