// Package deploy holds what is installed into clusters: the agent's manifests
// and the CRDs. It fills in values and knows nobody; the CLI prints or applies
// the result, the hub serves the same bytes for the agent's own upgrades.
package deploy

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"strconv"
	"text/template"
)

//go:embed agent/agent.yaml.tmpl
var agentTemplate string

// CRDs are the generated definitions, crds/*.yaml.
//
//go:embed crds/*.yaml
var CRDs embed.FS

// Agent are the values of the agent's manifests. All but CAPEM and
// PollInterval are required.
type Agent struct {
	// Namespace that the agent lives in, usually axle-system.
	Namespace string
	// Image reference of the agent.
	Image string
	// HubURL that the agent dials.
	HubURL string
	// BootstrapToken is used once, at the first start.
	BootstrapToken string
	// CAPEM are certificates to trust instead of the system's.
	CAPEM string
	// PollInterval is a Go duration; empty is the agent's default of 2m.
	PollInterval string
	// Version is written as a label.
	Version string
}

// Manifests returns the agent's objects as YAML documents: Namespace,
// ServiceAccount, ClusterRoleBinding, Secret, Deployment.
func (a Agent) Manifests() ([]byte, error) {
	functions := template.FuncMap{
		"quote":  strconv.Quote,
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	}
	parsed, err := template.New("agent").Funcs(functions).Parse(agentTemplate)
	if err != nil {
		return nil, fmt.Errorf("the agent's manifests: %w", err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, a); err != nil {
		return nil, fmt.Errorf("the agent's manifests: %w", err)
	}
	return out.Bytes(), nil
}
