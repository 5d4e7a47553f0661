package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/kube"
)

// with returns a client of the hub with another token.
func (w *whole) with(token string) *sdk.Client {
	w.t.Helper()
	client, err := sdk.New(sdk.Config{URL: w.hub.URL, Token: token, CAPEM: w.ca})
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// token returns a token of the administrator with some scopes.
func (w *whole) token(scopes ...string) string {
	w.t.Helper()
	made, err := w.client.Tokens.Create(w.t.Context(), connect.NewRequest(&hubv1.CreateTokenRequest{Name: "t", Scopes: scopes}))
	if err != nil {
		w.t.Fatal(err)
	}
	return made.Msg.GetSecret()
}

func configMap(namespace, name, data string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: %s\ndata:\n  key: %s\n", name, namespace, data)
}

// TestPagesWriteObjects: a page writes as kubectl does, and gets the API
// server's own words when it refuses.
func TestPagesWriteObjects(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	namespace := c.Namespace(t)
	objects := &hubv1.ClusterObjects{Cluster: "edge", Version: "v1", Resource: "configmaps", Namespace: namespace}
	write := func(client *sdk.Client, r *hubv1.WriteClusterObjectRequest) (*hubv1.WriteClusterObjectResponse, error) {
		if r.GetObjects() == nil {
			r.Objects = objects
		}
		answer, err := client.ClusterAPI.WriteObject(t.Context(), connect.NewRequest(r))
		if err != nil {
			return nil, err
		}
		return answer.Msg, nil
	}
	value := func() string {
		t.Helper()
		list, err := w.client.ClusterAPI.ListObjects(t.Context(), connect.NewRequest(&hubv1.ListClusterObjectsRequest{Objects: objects, Name: "one"}))
		if err != nil {
			return err.Error()
		}
		var m corev1.ConfigMap
		if err := json.Unmarshal(list.Msg.GetJson(), &m); err != nil {
			t.Fatal(err)
		}
		manager := ""
		if fields := m.ManagedFields; len(fields) > 0 {
			manager = fields[len(fields)-1].Manager
		}
		return m.Data["key"] + " by " + manager
	}
	steps := []struct {
		name    string
		request *hubv1.WriteClusterObjectRequest
		then    string
	}{
		{"dry run", &hubv1.WriteClusterObjectRequest{Verb: "create", Object: configMap(namespace, "one", "a"), DryRun: true}, "not found"},
		{"create", &hubv1.WriteClusterObjectRequest{Verb: "create", Object: configMap(namespace, "one", "a")}, "a by axle-console"},
		{"update", &hubv1.WriteClusterObjectRequest{Verb: "update", Name: "one", Object: configMap(namespace, "one", "b")}, "b by axle-console"},
		{"apply", &hubv1.WriteClusterObjectRequest{Verb: "apply", Name: "one", Object: configMap(namespace, "one", "c"), Force: true}, "c by axle-console"},
		{"patch, dry", &hubv1.WriteClusterObjectRequest{Verb: "patch", Name: "one", Object: "data: {key: x}", DryRun: true}, "c by axle-console"},
		{"patch", &hubv1.WriteClusterObjectRequest{Verb: "patch", Name: "one", Object: "data: {key: d}"}, "d by axle-console"},
		{"delete, dry", &hubv1.WriteClusterObjectRequest{Verb: "delete", Name: "one", DryRun: true}, "d by axle-console"},
		{"delete", &hubv1.WriteClusterObjectRequest{Verb: "delete", Name: "one"}, "not found"},
	}
	for _, step := range steps {
		answer, err := write(w.client, step.request)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if !json.Valid(answer.GetJson()) {
			t.Errorf("%s answers %s", step.name, answer.GetJson())
		}
		if got := value(); !strings.Contains(got, step.then) {
			t.Errorf("after %s: %s, want %s", step.name, got, step.then)
		}
	}
	if _, err := write(w.client, &hubv1.WriteClusterObjectRequest{Verb: "create", Object: configMap(namespace, "old", "a")}); err != nil {
		t.Fatal(err)
	}
	stale := strings.Replace(configMap(namespace, "old", "b"), "metadata:\n", "metadata:\n  resourceVersion: \"1\"\n", 1)
	reader := w.with(w.token("read"))
	refused := map[string]struct {
		client  *sdk.Client
		request *hubv1.WriteClusterObjectRequest
		code    errcode.Code
		says    string
	}{
		"an unknown field": {w.client, &hubv1.WriteClusterObjectRequest{Verb: "create", Object: configMap(namespace, "two", "a") + "dada: {}\n"}, errcode.Invalid, `Error from server (BadRequest): ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dada"`},
		"invalid":          {w.client, &hubv1.WriteClusterObjectRequest{Verb: "create", Object: configMap(namespace, "Two", "a")}, errcode.Unprocessable, `Error from server (Invalid): ConfigMap "Two" is invalid`},
		"a conflict":       {w.client, &hubv1.WriteClusterObjectRequest{Verb: "update", Name: "old", Object: stale}, errcode.Conflict, "Error from server (Conflict): Operation cannot be fulfilled"},
		"there already":    {w.client, &hubv1.WriteClusterObjectRequest{Verb: "create", Object: configMap(namespace, "old", "b")}, errcode.Conflict, "Error from server (AlreadyExists)"},
		"not there":        {w.client, &hubv1.WriteClusterObjectRequest{Verb: "delete", Name: "gone"}, errcode.NotFound, "Error from server (NotFound)"},
		"a reader's token": {reader, &hubv1.WriteClusterObjectRequest{Verb: "delete", Name: "old"}, errcode.Forbidden, "this token has only the scope"},
		"and a dry run":    {reader, &hubv1.WriteClusterObjectRequest{Verb: "delete", Name: "old", DryRun: true}, errcode.Forbidden, "this token has only the scope"},
		"no verb":          {w.client, &hubv1.WriteClusterObjectRequest{Name: "old"}, errcode.Invalid, "use create, update"},
		"all at once":      {w.client, &hubv1.WriteClusterObjectRequest{Verb: "delete"}, errcode.Invalid, "name the object"},
		"exec":             {w.client, &hubv1.WriteClusterObjectRequest{Verb: "patch", Name: "old", Object: "{}", Subresource: "exec"}, errcode.Invalid, "scale, status"},
		"too large":        {w.client, &hubv1.WriteClusterObjectRequest{Verb: "create", Object: strings.Repeat("x", 1<<20+1)}, errcode.Invalid, "at most 1048576"},
		"a path as a name": {w.client, &hubv1.WriteClusterObjectRequest{Verb: "delete", Name: "a/../../secrets/b"}, errcode.Invalid, "escaped byte"},
	}
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			_, err := write(test.client, test.request)
			if !errcode.Is(err, test.code) || !strings.Contains(fmt.Sprint(err), test.says) {
				t.Errorf("%v (%v), want %v and %q", err, errcode.Of(err), test.code, test.says)
			}
		})
	}
	eventually.For(t, limit, "the records", func() error {
		list, err := w.client.Audit.List(t.Context(), connect.NewRequest(&hubv1.ListAuditRequest{}))
		if err != nil {
			return err
		}
		have := map[string]int{}
		for _, r := range list.Msg.GetRecords() {
			var record struct{ Action, Verb, Result, Namespace string }
			if err := json.Unmarshal([]byte(r.GetRecord()), &record); err != nil {
				return err
			}
			if record.Namespace == namespace {
				have[record.Action+" "+record.Verb+" "+record.Result]++
			}
			if strings.Contains(r.String(), "data:") {
				t.Errorf("a record has the object's text: %s", r)
			}
		}
		for _, want := range []string{"kubernetes create ok", "kubernetes update conflict", "kubernetes delete ok", "kubernetes patch ok"} {
			if have[want] == 0 {
				return fmt.Errorf("no record %s in %v", want, have)
			}
		}
		return nil
	})
}

// TestPagesReadLogs: a page follows a log until it goes, or its token ends.
func TestPagesReadLogs(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	letRead(t, b.kube, namespace)
	b.pod(namespace, "talk", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line-$i; done; exec sleep 3600")
	read := func(ctx context.Context, client *sdk.Client, r *hubv1.ReadClusterLogsRequest, until string) (text string, err error) {
		r.Cluster, r.Namespace, r.Pod = "edge", namespace, "talk"
		stream, err := client.ClusterAPI.ReadLogs(ctx, connect.NewRequest(r))
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, stream.Close()) }()
		for stream.Receive() {
			if text += stream.Msg().GetLines(); until != "" && strings.Contains(text, until) {
				return text, nil
			}
		}
		return text, stream.Err()
	}
	eventually.For(t, limit, "200 lines", func() error {
		text, err := read(t.Context(), w.client, &hubv1.ReadClusterLogsRequest{}, "")
		if err == nil && strings.Count(text, "line-") != 200 {
			err = fmt.Errorf("%d lines", strings.Count(text, "line-"))
		}
		return err
	})
	text, err := read(t.Context(), w.client, &hubv1.ReadClusterLogsRequest{TailLines: 3, Container: "main"}, "")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err != nil || len(lines) != 3 || !strings.HasSuffix(lines[2], " line-200") {
		t.Fatalf("%v %q", err, lines)
	}
	if _, err := time.Parse(time.RFC3339Nano, strings.Fields(lines[0])[0]); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		request *hubv1.ReadClusterLogsRequest
		code    connect.Code
		says    string
	}{
		"too many lines":   {&hubv1.ReadClusterLogsRequest{TailLines: 50_001}, connect.CodeInvalidArgument, "50000"},
		"no container":     {&hubv1.ReadClusterLogsRequest{Container: "none"}, connect.CodeInvalidArgument, "container none is not valid for pod talk"},
		"no previous run":  {&hubv1.ReadClusterLogsRequest{Previous: true}, connect.CodeInvalidArgument, "previous terminated container"},
		"of the past only": {&hubv1.ReadClusterLogsRequest{SinceSeconds: -1}, connect.CodeInvalidArgument, "since_seconds"},
	} {
		if _, err := read(t.Context(), w.client, test.request, ""); connect.CodeOf(err) != test.code || !strings.Contains(fmt.Sprint(err), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Sixty follow, one more is refused, and has a place once one has gone.
	follower := w.with(w.token("read"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, leave := context.WithCancel(ctx)
	ended, following := make(chan error, 60), make(chan struct{}, 60)
	for i := range 60 {
		ctx := ctx
		if i == 0 {
			ctx = first
		}
		go func() {
			stream, err := follower.ClusterAPI.ReadLogs(ctx, connect.NewRequest(&hubv1.ReadClusterLogsRequest{Cluster: "edge", Namespace: namespace, Pod: "talk", Follow: true}))
			for text := ""; err == nil && stream.Receive(); {
				if text += stream.Msg().GetLines(); strings.HasSuffix(text, "line-200\n") {
					following <- struct{}{}
				}
			}
			if err == nil {
				err = stream.Err()
			}
			ended <- err
		}()
	}
	for range 60 {
		select {
		case <-following:
		case err := <-ended:
			t.Fatalf("ended: %v", err)
		}
	}
	if _, err := read(t.Context(), follower, &hubv1.ReadClusterLogsRequest{Follow: true}, "line-200"); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("one more: %v", err)
	}
	leave()
	<-ended
	eventually.For(t, limit, "a free place", func() error {
		_, err := read(t.Context(), follower, &hubv1.ReadClusterLogsRequest{Follow: true}, "line-200")
		return err
	})
	who, err := follower.Sessions.WhoAmI(t.Context(), connect.NewRequest(&hubv1.WhoAmIRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Tokens.Revoke(t.Context(), connect.NewRequest(&hubv1.RevokeTokenRequest{Id: who.Msg.GetTokenId()})); err != nil {
		t.Fatal(err)
	}
	for range 9 {
		if err := <-ended; connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("after the token was revoked: %v", err)
		}
	}
}

// TestPagesReadMetrics: what another API server of the cluster answers is read
// like any list.
func TestPagesReadMetrics(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	b := newBed(t, options{})
	eventually.For(t, limit, "a whole enrollment", func() error {
		answer, err := w.client.Clusters.Enrollment(t.Context(), connect.NewRequest(&hubv1.EnrollmentRequest{Name: "edge"}))
		if err == nil && !answer.Msg.GetDone() {
			err = fmt.Errorf("steps %v", answer.Msg.GetSteps())
		}
		return err
	})
	const group, version = "figures.example.com", "v1beta1"
	list := map[string]any{"kind": "NodeMetricsList", "apiVersion": group + "/" + version, "metadata": map[string]any{}, "items": []any{map[string]any{"usage": map[string]string{"cpu": "250m"}}}}
	b.aggregate(t, group, version, map[string]any{
		"": map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group + "/" + version, "resources": []any{}}, "/nodes": list,
	})
	answer, err := w.client.ClusterAPI.ListObjects(t.Context(), connect.NewRequest(&hubv1.ListClusterObjectsRequest{
		Objects: &hubv1.ClusterObjects{Cluster: "edge", Group: group, Version: version, Resource: "nodes"},
	}))
	if err != nil || !strings.Contains(string(answer.Msg.GetJson()), "250m") {
		t.Errorf("%v %v", answer, err)
	}
}

// TestRightsInTheHubHoldInACluster: what the hub lets a person do with a cluster,
// they may do in it, and not after it was taken away.
func TestRightsInTheHubHoldInACluster(t *testing.T) {
	t.Parallel()
	// The controllers fill the roles view and edit.
	c := kube.New(t, kube.ClusterConfig{Controllers: true})
	w, namespace := newWholeOn(t, c), c.Namespace(t)
	made, err := w.client.Clusters.AgentManifests(t.Context(), connect.NewRequest(&hubv1.AgentManifestsRequest{BootstrapToken: "axle_x"}))
	if err != nil {
		t.Fatal(err)
	}
	// The bindings alone: an agent runs already.
	var rbac []string
	for document := range strings.SplitSeq(made.Msg.GetManifests(), "\n---\n") {
		if strings.Contains(document, "axle:cluster:") || strings.Contains(document, "\nkind: ClusterRole\n") {
			rbac = append(rbac, document)
		}
	}
	file := filepath.Join(t.TempDir(), "rbac.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(rbac, "\n---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, err := w.command("kubectl", "--kubeconfig", c.Kubeconfig(), "apply", "-f", file); err != nil || len(rbac) != 4 {
		t.Fatalf("%d documents: %v %s%s", len(rbac), err, out, errs)
	}
	person := func(name string, actions ...string) *sdk.Client {
		t.Helper()
		user, err := w.client.Users.Create(t.Context(), connect.NewRequest(&hubv1.CreateUserRequest{Email: name + "@example.com", TokenScopes: []string{"write"}}))
		if err != nil {
			t.Fatal(err)
		}
		if len(actions) > 0 {
			if _, err := w.client.Bindings.Create(t.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{
				SubjectKind: "user", Subject: name + "@example.com", Actions: actions, Place: &hubv1.Place{Cluster: "edge"},
			})); err != nil {
				t.Fatal(err)
			}
		}
		return w.with(user.Msg.GetToken())
	}
	viewer, writer, stranger := person("viewer", "read"), person("writer", "write"), person("stranger")
	list := func(c *sdk.Client, resource, namespace string) error {
		_, err := c.ClusterAPI.ListObjects(t.Context(), connect.NewRequest(&hubv1.ListClusterObjectsRequest{
			Objects: &hubv1.ClusterObjects{Cluster: "edge", Version: "v1", Resource: resource, Namespace: namespace},
		}))
		return err
	}
	create := func(c *sdk.Client, name string) error {
		_, err := c.ClusterAPI.WriteObject(t.Context(), connect.NewRequest(&hubv1.WriteClusterObjectRequest{
			Objects: &hubv1.ClusterObjects{Cluster: "edge", Version: "v1", Resource: "configmaps", Namespace: namespace}, Verb: "create", Object: configMap(namespace, name, "x"),
		}))
		return err
	}
	eventually.For(t, limit, "the roles", func() error { return errors.Join(list(viewer, "pods", namespace), create(writer, "first")) })
	for name, test := range map[string]struct {
		err  error
		code errcode.Code
	}{
		"a viewer sees nodes":        {list(viewer, "nodes", ""), ""},
		"a viewer sees no Secrets":   {list(viewer, "secrets", namespace), errcode.Forbidden},
		"a viewer writes nothing":    {create(viewer, "second"), errcode.Forbidden},
		"a writer writes":            {create(writer, "third"), ""},
		"a writer binds no rights":   {list(writer, "serviceaccounts", "kube-system"), ""},
		"a stranger sees no cluster": {list(stranger, "pods", namespace), errcode.Forbidden},
	} {
		if test.code == "" && test.err != nil || test.code != "" && !errcode.Is(test.err, test.code) {
			t.Errorf("%s: %v", name, test.err)
		}
	}
	if text := fmt.Sprint(create(viewer, "second")); !strings.Contains(text, `User "viewer@example.com" cannot create resource "configmaps"`) || !strings.Contains(text, "axle auth bind --user viewer@example.com --action write --cluster edge") {
		t.Errorf("the refusal says %s", text)
	}
	if _, err := w.client.Bindings.Delete(t.Context(), connect.NewRequest(&hubv1.DeleteBindingRequest{
		SubjectKind: "user", Subject: "writer@example.com", Actions: []string{"write"}, Place: &hubv1.Place{Cluster: "edge"},
	})); err != nil {
		t.Fatal(err)
	}
	if err := create(writer, "fourth"); err == nil {
		t.Error("a writer writes after the binding was removed")
	}
}
