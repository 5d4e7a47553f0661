package world_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/world"
)

// The positions of the tenancy table. All accounts may do everything in the cluster:
// refusals come only from the limits.
const (
	tenantSpace = "ten-1"
	otherSpace  = "other"
	ownAccount  = "system:serviceaccount:ten-1:powerful"
)

// tenancyCell is one cell of the table: a service of a project with some
// limits, acting as some account, asks in one way for one object.
type tenancyCell struct {
	limits, entry, account, target string
}

func (c tenancyCell) name() string {
	return strings.Join([]string{c.entry, c.limits, c.account, c.target}, "-")
}

// spec names the account as the service does.
func (c tenancyCell) serviceAccount() string {
	return map[string]string{"none": "", "own": "powerful", "reserved": "axle-system/powerful", "system": "kube-system/powerful", "foreign": otherSpace + "/powerful"}[c.account]
}

// identity is whom the API server sees where the cell is allowed, empty for the
// agent itself.
func (c tenancyCell) identity() string {
	namespace, name, foreign := strings.Cut(c.serviceAccount(), "/")
	switch {
	case c.account == "none":
		return ""
	case !foreign:
		return ownAccount
	}
	return "system:serviceaccount:" + namespace + ":" + name
}

// allowed is the rule, said once more: who may act as whom, and on what.
func (c tenancyCell) allowed() bool {
	if c.limits == "default" {
		return true
	}
	if c.account != "own" {
		// The limits name the account's namespace, as they may not the cluster's own.
		return c.account == "foreign" && c.limits == "wide"
	}
	switch c.target {
	case "own":
		return true
	case "elsewhere", "kind":
		return c.limits != "narrow"
	case "global":
		// Reading what belongs to the whole cluster is the account's affair.
		return c.limits != "narrow" && c.entry == "lookup"
	}
	return false
}

// kindOf is the kind of the object that the cell is about.
func (c tenancyCell) kindOf() (kind, version string) {
	switch {
	case c.target == "kind":
		return "Secret", "v1"
	case c.target == "global":
		return "ClusterRole", "rbac.authorization.k8s.io/v1"
	case c.entry == "test":
		return "Job", "batch/v1"
	}
	return "ConfigMap", "v1"
}

func (c tenancyCell) namespace() string {
	return map[string]string{"own": tenantSpace, "kind": tenantSpace, "elsewhere": otherSpace, "kube": "kube-system", "global": ""}[c.target]
}

// object is the rendered object of the service.
func (c tenancyCell) object() string {
	kind, version := c.kindOf()
	annotations := map[string]string{"test": "axle-cd.github.io/hook: Test", "hook": "axle-cd.github.io/hook: PreSync"}[c.entry]
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %q, annotations: {%s}}\n", version, kind, c.name(), c.namespace(), annotations)
	if kind == "Job" {
		text += "spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: none, env: [{name: A, valueFrom: {secretKeyRef: {name: token, key: value}}}]}]}}}\n"
	}
	return text
}

// files are the service's folder.
func (c tenancyCell) files() map[string]string {
	in := func(name string) string { return "tenancy/" + c.name() + "/" + name }
	beside := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside-" + c.name() + "}\n"
	switch c.entry {
	case "lookup":
		kind, version := c.kindOf()
		return map[string]string{
			in("Chart.yaml"):       "apiVersion: v2\nname: look\nversion: 1.0.0\n",
			in("templates/a.yaml"): beside + fmt.Sprintf("data: {seen: {{ lookup %q %q %q %q | toJson | quote }}}\n", version, kind, c.namespace(), c.name()),
		}
	case "test", "hook":
		return map[string]string{in("a.yaml"): c.object() + beside}
	}
	return map[string]string{in("a.yaml"): c.object()}
}

func (c tenancyCell) spec() *hubv1.ServiceSpec {
	no := false
	spec := &hubv1.ServiceSpec{Namespace: tenantSpace, Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "tenancy/" + c.name()},
		ServiceAccount: c.serviceAccount(), SyncConfig: &hubv1.SyncConfig{CreateNamespace: &no}}
	switch c.entry {
	case "diff":
		spec.DryRun = true
	case "adopt":
		spec.Adopt = true
	case "select":
		// A whole sync is held; one of single objects is not.
		spec.SyncWindows = []*hubv1.SyncWindow{{Kind: "deny", Schedule: "* * * * *", Duration: "1m"}}
	case "exec":
		spec.Renderers = []*hubv1.Renderer{{Path: ".", Type: "EXEC", Exec: &hubv1.Exec{Tool: "emit"}}}
	}
	return spec
}

func tenancyCells() []tenancyCell {
	var all []tenancyCell
	for _, limits := range []string{"default", "guest", "wide", "narrow"} {
		for _, entry := range []string{"apply", "lookup", "test", "hook", "select", "diff", "heal", "exec", "adopt"} {
			for _, account := range []string{"none", "reserved", "system", "foreign"} {
				all = append(all, tenancyCell{limits, entry, account, "own"})
			}
			for _, target := range []string{"own", "elsewhere", "kube", "kind", "global"} {
				// Only Jobs and Pods, and the namespaced objects they need, can be
				// tests.
				if entry != "test" || target != "global" {
					all = append(all, tenancyCell{limits, entry, "own", target})
				}
			}
		}
	}
	return all
}

// TestTenancyTable runs each way by which a service can make an agent send a request
// to an API server, with each limit of its project, account, namespace and kind.
// Allowed requests use the right account. Refused ones do not appear in the API
// server's audit log.
func TestTenancyTable(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "emit"), []byte("#!/bin/sh\ncat a.yaml\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newStageOf(t, world.Config{Clusters: []string{"edge-1"}, Audit: true, Hub: []string{"--repo-poll-interval", "2s"}}, "--tools-dir", tools)
	api, err := sdk.New(sdk.Config{URL: s.Origin(), Token: strings.TrimSpace(s.axle("tokens", "create", "table"))})
	s.must(err)
	kubectl := func(args ...string) string {
		s.t.Helper()
		result, err := s.Kubectl(s.t.Context(), "edge-1", args...)
		s.must(err)
		return result.Out
	}
	for _, namespace := range []string{tenantSpace, otherSpace} {
		kubectl("create", "namespace", namespace)
	}
	for _, namespace := range []string{tenantSpace, otherSpace, "axle-system", "kube-system"} {
		kubectl("create", "serviceaccount", "powerful", "-n", namespace)
		kubectl("create", "clusterrolebinding", "powerful-"+namespace, "--clusterrole", "cluster-admin", "--serviceaccount", namespace+":powerful")
	}
	s.axle("projects", "create", "guest", "--allow-account", "*/*")
	s.axle("projects", "create", "wide", "--allow-namespace", "*")
	s.axle("projects", "create", "narrow", "--allow-namespace", "ten-*", "--allow-kind", "ConfigMap,Job.batch", "--allow-account", "*/*")

	cells, files, there := tenancyCells(), map[string]string{}, ""
	for _, c := range cells {
		for name, text := range c.files() {
			files[name] = text
		}
		if c.entry == "lookup" || c.entry == "adopt" {
			there += "---\n" + c.object()
		}
	}
	kubectl("apply", "-f", s.write("there.yaml", there))
	s.commitFiles("fleet", "the table", files)
	for _, c := range cells {
		ref := &hubv1.ServiceRef{Cluster: "edge-1", Name: c.name()}
		_, err := api.Services.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{Ref: ref, Spec: c.spec(), Project: c.limits}))
		s.must(err)
		if c.entry == "select" {
			kind, version := c.kindOf()
			group, _, _ := strings.Cut(version, "/")
			if group == "v1" {
				group = ""
			}
			_, err := api.Services.Sync(t.Context(), connect.NewRequest(&hubv1.SyncServiceRequest{Ref: ref, Resources: []string{group + ":" + kind + ":" + c.name()}}))
			s.must(err)
		}
	}
	table := tenancyTable{stage: s, t: t, api: api}
	table.ends(cells)
	for _, c := range cells {
		if c.entry == "heal" && c.allowed() {
			table.heals(c)
		}
	}
	table.audit(cells)
	table.narrows()
}

// narrows limits projects whose services have applied: objects that they may no
// longer write are not healed either.
func (s tenancyTable) narrows() {
	s.axle("projects", "update", "default", "--allow-kind", "ConfigMap")
	s.axle("projects", "update", "guest", "--allow-kind", "Secret")
	for c, refusal := range map[tenancyCell]string{
		{"default", "heal", "none", "own"}: "project default has limits",
		{"guest", "heal", "own", "own"}:    "kind ConfigMap is not one of those",
	} {
		s.state("edge-1", c.name(), "Failed", refusal)
		mark, err := s.Cluster("edge-1").AuditMark()
		s.must(err)
		_, err = s.Kubectl(s.t.Context(), "edge-1", "delete", "configmap", c.name(), "-n", c.namespace())
		s.must(err)
		s.rest()
		events, err := s.Cluster("edge-1").AuditSince(mark)
		s.must(err)
		for _, e := range events.ByUser("axle-agent").Requests() {
			if e.Object.Name == c.name() {
				s.t.Errorf("%s: healed as %q although it is refused: %s %s", c.name(), e.As.Name, e.Verb, e.URI)
			}
		}
	}
}

type tenancyTable struct {
	*stage
	t   *testing.T
	api *sdk.Client
}

// exists reports whether the cell's object is in the cluster.
func (s tenancyTable) exists(c tenancyCell) error {
	kind, version := c.kindOf()
	path := "/api/"
	if strings.Contains(version, "/") {
		path = "/apis/"
	}
	path += version
	if c.namespace() != "" {
		path += "/namespaces/" + c.namespace()
	}
	var o live
	err := s.read("edge-1", path+"/"+strings.ToLower(kind)+"s/"+c.name(), &o)
	if err == nil && o.Metadata.Annotations["axle-cd.github.io/service"] == "" {
		err = fmt.Errorf("it is not the service's: %v", o.Metadata.Annotations)
	}
	return err
}

// text is everything that the service says.
func (s tenancyTable) text(c tenancyCell) (string, error) {
	got, err := s.api.Services.Get(s.t.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: c.name()}}))
	if err != nil {
		return "", err
	}
	text := got.Msg.GetSync() + " " + got.Msg.GetMessage()
	for _, e := range got.Msg.GetErrors() {
		text += " " + e.GetSource() + ": " + e.GetMessage()
	}
	return text, nil
}

// end returns nil once the agent has done, or refused, what the cell requests.
func (s tenancyTable) end(c tenancyCell) error {
	text, err := s.text(c)
	switch {
	case err != nil:
		return err
	case !c.allowed():
		// A diff counts what it refuses, and shows the rest on request.
		if !strings.Contains(text, "project "+c.limits) && (c.entry != "diff" || !strings.Contains(text, "1 refused")) {
			return fmt.Errorf("it is not refused: %s", text)
		}
		return nil
	case c.entry == "lookup":
		beside, err := s.get("edge-1", tenantSpace, "beside-"+c.name())
		if seen := beside.Data["seen"]; err == nil && !strings.Contains(seen, c.name()) {
			err = fmt.Errorf("it saw %s", seen)
		}
		return cmpError(err, text)
	case c.entry == "diff":
		if !strings.Contains(text, "1 to create") {
			return fmt.Errorf("it says %s", text)
		}
		return nil
	}
	return cmpError(s.exists(c), text)
}

// ends waits for all cells at once.
func (s tenancyTable) ends(cells []tenancyCell) {
	open := map[tenancyCell]error{}
	for _, c := range cells {
		open[c] = nil
	}
	_ = eventually.WaitEvery(s.t.Context(), 3*within, time.Second, func() error {
		for c := range open {
			if open[c] = s.end(c); open[c] == nil {
				delete(open, c)
				s.endTest(c)
			}
		}
		if len(open) > 0 {
			return fmt.Errorf("%d cells are open", len(open))
		}
		return nil
	})
	for c, err := range open {
		s.t.Errorf("%s: %v", c.name(), err)
	}
}

// endTest makes room for other tests: nothing runs Jobs here, so none would end.
func (s tenancyTable) endTest(c tenancyCell) {
	if c.entry == "test" && c.allowed() && c.target != "kind" {
		_, err := s.Kubectl(s.t.Context(), "edge-1", "delete", "job", c.name(), "-n", c.namespace(), "--wait=false")
		s.must(err)
	}
}

func cmpError(err error, text string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; it says %s", err, text)
}

// heals deletes an object and waits until it exists again.
func (s tenancyTable) heals(c tenancyCell) {
	kind, _ := c.kindOf()
	args := []string{"delete", kind, c.name()}
	if c.namespace() != "" {
		args = append(args, "-n", c.namespace())
	}
	_, err := s.Kubectl(s.t.Context(), "edge-1", args...)
	s.must(err)
	eventually.For(s.t, within, c.name()+" is healed", func() error { return s.exists(c) })
}

// audit compares who asked for each cell's object with who should have.
func (s tenancyTable) audit(cells []tenancyCell) {
	events, err := s.Cluster("edge-1").Audit()
	s.must(err)
	asked := map[string]kube.AuditEvents{}
	for _, e := range events.ByUser("axle-agent").Requests() {
		asked[e.Object.Name] = append(asked[e.Object.Name], e)
	}
	for _, c := range cells {
		for _, e := range asked[c.name()] {
			if !c.allowed() {
				s.t.Errorf("%s: refused, but asked as %q: %s %s -> %d", c.name(), e.As.Name, e.Verb, e.URI, e.Response.Code)
			} else if e.As.Name != c.identity() {
				s.t.Errorf("%s: asked as %q instead of %q: %s %s", c.name(), e.As.Name, c.identity(), e.Verb, e.URI)
			}
		}
		if c.allowed() && len(asked[c.name()]) == 0 {
			s.t.Errorf("%s: allowed, and nothing was asked", c.name())
		}
	}
}
