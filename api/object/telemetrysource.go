package object

import "github.com/axle-cd/axle/internal/rule"

// TelemetrySource is a store of a cluster's metrics, logs or alerts.
var TelemetrySource = stored(Kind{
	Name: "TelemetrySource", Text: "A store of a cluster's metrics, logs or alerts: a Service in the cluster, or a URL.",
	Noun: "telemetry-sources", Words: []string{"telemetrysource", "telemetrysources", "telemetry-source", "telemetry-sources"},
	Storage: &Storage{
		Called: "telemetry source", Short: "axtel", Settings: "TelemetrySourceSettings", File: "telemetrysource", InProject: true,
		Write: "write", Prefix: "tel_", Limit: 20000, Columns: []string{"cluster", "type", "service", "url"},
		Example: `{"project": "default", "cluster": "edge-1", "type": "prometheus", "namespace": "monitoring", "service": "prometheus-server", "port": "80"}`,
		Examples: []string{
			"apply edge-1-metrics --project default --cluster edge-1 --type prometheus --namespace monitoring --service prometheus-server --port 80",
			"list", "get edge-1-metrics -o yaml", "delete edge-1-metrics",
		},
	},
	Fields: Fields{
		"name":     {Required: true, Immutable: true, Rule: rule.Label, Text: "The name, which cannot change."},
		"project":  {Required: true, Immutable: true, Reference: "Project"},
		"cluster":  {Required: true, Immutable: true, Reference: "Cluster"},
		"type":     {Required: true, Immutable: true, Enum: rule.TelemetryTypes},
		"scheme":   {Enum: rule.TelemetrySchemes},
		"auth":     {Enum: rule.TelemetryAuth},
		"password": {Secret: true},
		"token":    {Secret: true},
	},
})
