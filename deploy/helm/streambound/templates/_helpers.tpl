{{- define "streambound.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "streambound.image" -}}
{{- with .Values.airflow.images.airflow }}{{ .repository }}:{{ .tag }}{{ end -}}
{{- end }}

{{- define "streambound.podSecurity" -}}
runAsNonRoot: true
runAsUser: 50000
runAsGroup: 0
fsGroup: 0
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "streambound.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
{{- end }}

{{- /* A claim; of a list of its name and its values. */}}
{{- define "streambound.claim" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $values := index . 2 -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ $name }}
  labels: {{- include "streambound.labels" $root | nindent 4 }}
  annotations:
    # What is in it outlives the release.
    helm.sh/resource-policy: keep
spec:
  accessModes: {{- toYaml $values.accessModes | nindent 4 }}
  {{- with $values.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ $values.size }}
{{- end }}
