// Package manifests fills in the agent's manifests, from the files that its caller has: the
// folder deploy, of which cmd/axle-hub holds what is needed. The hub answers with them for a
// cluster that is connected, and serves them, with their values left open, for upgrades of
// the agents.
package manifests

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// The files.
const (
	agentFile = "agent/agent.yaml.tmpl"
	leastFile = "agent/least-privilege.yaml"
)

// definitionFiles are the CRDs of the kinds that an agent reads in its cluster, and no
// others: a cluster gets no kind that nobody acts on there.
var definitionFiles = []string{"crds/deployments.plural.sh_agentconfigurations.yaml", "crds/deployments.plural.sh_customhealths.yaml", "crds/platform.plural.sh_dashboards.yaml"}

// Agent are the values of the agent's manifests. All except CAPEM, PollInterval, Args
// and the options are required.
type Agent struct {
	// Namespace is the agent's namespace, usually axle-system.
	Namespace string
	// Image is the image reference of the agent.
	Image string
	// HubURL is the URL of the hub.
	HubURL string
	// BootstrapToken is used once, at the first start.
	BootstrapToken string
	// CAPEM is PEM certificates to trust instead of the system's.
	CAPEM string
	// PollInterval is a Go duration; empty means the agent's default of 2m.
	PollInterval string
	// Version is written as a label.
	Version string
	// Args are additional arguments of axle-agent run.
	Args []string
	// LeastPrivilege leaves out the binding to cluster-admin: the agent's account
	// then has only the rights for its own work; rights for services must be granted
	// separately.
	LeastPrivilege bool
	// WithoutAdmins leaves out the binding that makes the hub's administrators
	// cluster administrators when they use the cluster through the hub.
	WithoutAdmins bool
	// WithoutAccess leaves out the bindings that let people whom the hub lets read or
	// write the cluster see or edit what is in it. Who may do what is then up to the
	// cluster's own RBAC.
	WithoutAccess bool
	// WithoutPeople allows nobody to use the cluster through the hub: the agent
	// refuses, and with LeastPrivilege it also lacks the rights.
	WithoutPeople bool

	// arguments, if set, is the command line as YAML.
	arguments string
}

// AgentNamespace is where agents live by default.
const AgentNamespace = "axle-system"

// AgentImage is where releases of the agent are published, without a tag.
const AgentImage = "ghcr.io/axle-cd/axle-agent"

// Binding is the name of the agent's cluster role binding. Several agents on one API
// server, each in its own namespace, have one each.
func (a Agent) Binding() string {
	if a.Namespace == AgentNamespace {
		return "axle-agent"
	}
	return a.Namespace + "-agent"
}

// Admins reports whether the hub's administrators are cluster administrators.
func (a Agent) Admins() bool { return !a.WithoutAdmins && !a.WithoutPeople }

// Access reports whether the hub's rights on the cluster hold inside it.
func (a Agent) Access() bool { return !a.WithoutAccess && !a.WithoutPeople }

// AdminsBinding is the name of the binding of the hub's administrators.
func (a Agent) AdminsBinding() string { return a.Binding() + "-admins" }

// Arguments returns the agent's command line as a YAML list.
func (a Agent) Arguments() (string, error) {
	if a.arguments != "" {
		return a.arguments, nil
	}
	args := []string{"run", "--hub-url=" + a.HubURL, "--token-file=/etc/axle/bootstrap/token"}
	if a.CAPEM != "" {
		args = append(args, "--ca-file=/etc/axle/bootstrap/ca.pem")
	}
	args = append(args, "--namespace="+a.Namespace, "--data-dir=/var/lib/axle", "--self-upgrade")
	if a.PollInterval != "" {
		args = append(args, "--poll-interval="+a.PollInterval)
	}
	if a.WithoutPeople {
		args = append(args, "--proxy=off")
	}
	text, err := json.Marshal(append(args, a.Args...))
	return string(text), err
}

// Manifests returns the agent's objects as YAML documents: Namespace, ServiceAccount,
// ClusterRoleBinding (or the roles of LeastPrivilege), the bindings of the hub's
// administrators and of those whom it lets read and write, Secret, Deployment, and the CRDs that agents read.
func (a Agent) Manifests(files fs.FS) ([]byte, error) {
	out, err := a.write(files)
	if err != nil {
		return nil, fmt.Errorf("the agent's manifests: %w", err)
	}
	return out, nil
}

func (a Agent) write(files fs.FS) ([]byte, error) {
	if files == nil {
		return nil, errors.New("this program was built without their files")
	}
	text, err := fs.ReadFile(files, agentFile)
	if err != nil {
		return nil, err
	}
	if a.LeastPrivilege {
		least, err := fs.ReadFile(files, leastFile)
		if err != nil {
			return nil, err
		}
		before, rest, ok := bytes.Cut(text, []byte(bindingMark))
		_, after, ended := bytes.Cut(rest, []byte("\n---\n"))
		if !ok || !ended {
			return nil, fmt.Errorf("%s has no %q", agentFile, bindingMark)
		}
		text = slices.Concat(before, least, []byte("---\n"), after)
	}
	functions := template.FuncMap{
		"quote":  strconv.Quote,
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	}
	parsed, err := template.New("agent").Funcs(functions).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, a); err != nil {
		return nil, err
	}
	for _, name := range definitionFiles {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n" + strings.TrimPrefix(string(text), "---\n"))
	}
	return out.Bytes(), nil
}

// bindingMark is the start of the part that LeastPrivilege replaces.
const bindingMark = "# The agent applies whatever"

// PackageFile is the name of the one file of Package.
const PackageFile = "agent.yaml.liquid"

// Package returns what an agent applies to upgrade itself: only its Deployment, as a
// template over configuration.version, image, namespace and args. The rest of an
// installation (namespace, account, rights, the Secret) belongs to its owner, who may
// have changed it.
func Package(files fs.FS) ([]byte, error) {
	open := func(name string) string { return "{{ configuration." + name + " }}" }
	all, err := Agent{Namespace: open("namespace"), Image: open("image"), Version: open("version"), arguments: open("args")}.Manifests(files)
	if err != nil {
		return nil, err
	}
	for document := range strings.SplitSeq(string(all), "\n---\n") {
		if strings.Contains(document, "\nkind: Deployment\n") {
			return []byte(document), nil
		}
	}
	return nil, fmt.Errorf("the agent's manifests have no Deployment")
}
