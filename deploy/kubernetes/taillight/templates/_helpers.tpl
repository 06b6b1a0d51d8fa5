{{- define "taillight.name" -}}
{{- /* 63 is the longest name of a pod; its index and its Job's suffix must still fit. */ -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "taillight.selector" -}}
app.kubernetes.io/name: taillight
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "taillight.labels" -}}
{{ include "taillight.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "taillight.image" -}}
{{- $tag := .tag | default .version -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ $tag }}{{- end -}}
{{- end -}}

{{- define "taillight.ownImage" -}}
{{- include "taillight.image" (merge (dict "version" .Chart.AppVersion) .Values.image) -}}
{{- end -}}

{{- define "taillight.secret" -}}
{{- .Values.security.existingSecret | default (printf "%s-credentials" (include "taillight.name" .)) -}}
{{- end -}}

{{- /* The name by which agent number .index is reached: a Job's pod has its index in its host name. */ -}}
{{- define "taillight.agentHost" -}}
{{- $agents := printf "%s-agents" (include "taillight.name" .root) -}}
{{- printf "%s-%d.%s.%s.svc" $agents .index $agents .root.Release.Namespace -}}
{{- end -}}

{{- define "taillight.agentAddresses" -}}
{{- $addresses := list -}}
{{- range $i := until (int .Values.agents.count) -}}
{{- $addresses = append $addresses (printf "%s:%d" (include "taillight.agentHost" (dict "root" $ "index" $i)) (int $.Values.agents.port)) -}}
{{- end -}}
{{- join "," $addresses -}}
{{- end -}}

{{- define "taillight.target" -}}
{{- if .Values.load.target -}}
{{- .Values.load.target -}}
{{- else if eq .Values.server.kind "none" -}}
{{- fail "server.kind is none and load.target is empty; give load.target the address of a server that runs, HOST:PORT" -}}
{{- else -}}
{{- printf "%s-server.%s.svc:%d" (include "taillight.name" .) .Release.Namespace (int .Values.server.port) -}}
{{- end -}}
{{- end -}}

{{- /* What holds for all pods. */ -}}
{{- define "taillight.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.security.user }}
  runAsGroup: {{ .Values.security.user }}
  fsGroup: {{ .Values.security.user }}
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "taillight.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* .role of pods that these keep away from, .how: required, preferred or none. */ -}}
{{- define "taillight.awayFrom" -}}
labelSelector:
  matchLabels:
    {{- include "taillight.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
topologyKey: kubernetes.io/hostname
{{- end -}}

{{- define "taillight.affinity" -}}
{{- $required := list -}}
{{- $preferred := list -}}
{{- range .away -}}
{{- $term := include "taillight.awayFrom" (dict "root" $.root "role" .role) | fromYaml -}}
{{- if eq .how "required" -}}{{- $required = append $required $term -}}{{- end -}}
{{- if eq .how "preferred" -}}{{- $preferred = append $preferred (dict "weight" 100 "podAffinityTerm" $term) -}}{{- end -}}
{{- end -}}
{{- $rules := dict -}}
{{- with $required -}}{{- $_ := set $rules "requiredDuringSchedulingIgnoredDuringExecution" . -}}{{- end -}}
{{- with $preferred -}}{{- $_ := set $rules "preferredDuringSchedulingIgnoredDuringExecution" . -}}{{- end -}}
{{- if $rules }}
affinity:
  podAntiAffinity:
    {{- toYaml $rules | nindent 4 }}
{{- end }}
{{- end -}}
