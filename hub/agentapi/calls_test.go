package agentapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/tarball"
)

func TestTarballIsWhatTheListNames(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	b.declare("edge-1", "web", "web")
	name := a.produced(1).GetServices()[0].GetTarballDigest()
	path := "/agent/v1/tarballs/" + name
	whole := a.get(path)
	if whole.status != http.StatusOK {
		t.Fatalf("status %d: %s", whole.status, whole.body)
	}
	got, _, err := tarball.Unpack(t.Context(), bytes.NewReader(whole.body), filepath.Join(t.TempDir(), "out"), tarball.Limits{})
	if err != nil || got.String() != name {
		t.Errorf("digest %s, want %s: %v", got, name, err)
	}
	etag := whole.header.Get("Etag")
	if etag == "" || strings.HasPrefix(etag, "W/") || !strings.Contains(whole.header.Get("Cache-Control"), "immutable") || whole.header.Get("Last-Modified") != "" {
		t.Errorf("headers %v", whole.header)
	}
	tests := map[string]struct {
		headers []string
		status  int
		body    []byte
	}{
		"same bytes known":   {[]string{"If-None-Match", etag}, http.StatusNotModified, nil},
		"rest of same bytes": {[]string{"Range", "bytes=10-", "If-Range", etag}, http.StatusPartialContent, whole.body[10:]},
		"rest of others":     {[]string{"Range", "bytes=10-", "If-Range", `"other"`}, http.StatusOK, whole.body},
		"rest of nothing":    {[]string{"Range", "bytes=10-"}, http.StatusOK, whole.body},
		"two ranges":         {[]string{"Range", "bytes=1-2,4-5", "If-Range", etag}, http.StatusOK, whole.body},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := a.get(path, tc.headers...)
			if got.status != tc.status || !bytes.Equal(got.body, tc.body) {
				t.Errorf("status %d, %d bytes", got.status, len(got.body))
			}
		})
	}
	if got := a.get(path + "?have=axle1:" + strings.Repeat("0", 64)); got.status != http.StatusOK || !bytes.Equal(got.body, whole.body) {
		t.Errorf("with have: status %d", got.status)
	}
}

func TestWhatBelongsToOthersDoesNotExist(t *testing.T) {
	b := newBed(t)
	mine, other := b.register("edge-1"), b.register("edge-2")
	v := b.declare("edge-1", "web", "web")
	name := mine.produced(1).GetServices()[0].GetTarballDigest()
	if got := other.get("/agent/v1/tarballs/" + name); got.status != http.StatusNotFound {
		t.Errorf("tarball: status %d", got.status)
	}
	if got := mine.get("/agent/v1/tarballs/axle1:" + strings.Repeat("0", 64)); got.status != http.StatusNotFound {
		t.Errorf("unknown tarball: status %d", got.status)
	}
	resp, err := other.calls().Services(t.Context(), withToken(other, &agentv1.ServicesRequest{Ids: []string{v.ID}}))
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Msg.GetServices()) != 0 || !slices.Contains(resp.Msg.GetMissing(), v.ID) {
		t.Errorf("specs: %v", resp.Msg)
	}
	if list, _ := other.poll(); len(list.GetServices()) != 0 {
		t.Errorf("list %v", list)
	}
}

func TestSpecsCarrySecretsAndThePosition(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	v := b.declare("edge-1", "web", "web")
	listed := a.produced(1).GetServices()[0]
	resp, err := a.calls().Services(t.Context(), withToken(a, &agentv1.ServicesRequest{Ids: []string{v.ID, "svc_gone"}}))
	if err != nil {
		t.Fatal(err)
	}
	spec := resp.Msg.GetServices()[0]
	if spec.GetSpecDigest() != listed.GetSpecDigest() || spec.GetSecrets()["password"] != "hunter2" || spec.GetCluster().GetName() != "edge-1" || spec.GetDisplay().GetRevision() == 0 {
		t.Errorf("spec %v", spec)
	}
	if !slices.Equal(resp.Msg.GetMissing(), []string{"svc_gone"}) {
		t.Errorf("missing %v", resp.Msg.GetMissing())
	}
	if _, err := event.ParsePosition(resp.Header().Get("Axle-Position")); err != nil || resp.Header().Get("Axle-Position") == "" || resp.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", resp.Header())
	}
}

func TestReportOnAWrongBaseResyncs(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	v := b.declare("edge-1", "web", "web")
	before := a.get("/agent/v1/desired").header.Get("Axle-Status")
	first, hash := a.report(v.ID, "", &agentv1.ServiceStatus{Sync: "Applying", Health: "Progressing"})
	if len(first.GetResync()) != 0 || first.GetStatusHash() == before {
		t.Errorf("first %v", first)
	}
	if got := a.get("/agent/v1/desired", "Axle-Seen", at(first)).header.Get("Axle-Status"); got != first.GetStatusHash() {
		t.Errorf("the poll says %s, the report %s", got, first.GetStatusHash())
	}
	wrong, _ := a.report(v.ID, strings.Repeat("0", 64), &agentv1.ServiceStatus{Sync: "Synced", Health: "Healthy"})
	if !slices.Equal(wrong.GetResync(), []string{v.ID}) || wrong.GetStatusHash() != first.GetStatusHash() {
		t.Errorf("wrong base: %v", wrong)
	}
	right, _ := a.report(v.ID, hash, &agentv1.ServiceStatus{Sync: "Synced", Health: "Healthy", Message: "all is well"})
	if len(right.GetResync()) != 0 || right.GetStatusHash() == first.GetStatusHash() {
		t.Errorf("right base: %v", right)
	}
	view, err := b.Parts().Fleet.Service(t.Context(), v.Ref())
	if err != nil || view.Status.Health != "Healthy" || view.Status.Message != "all is well" || view.ReportedAt == 0 {
		t.Errorf("stored %+v, %v", view.Status, err)
	}
	if view.Freshness != "Fresh" {
		t.Errorf("freshness %s", view.Freshness)
	}
}

// A complete report of many services comes in parts; the last part lists them
// all.
func TestLastPartOfAWholeReportNamesTheServices(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	kept, lost := b.declare("edge-1", "web", "web"), b.declare("edge-1", "db", "db")
	status := &agentv1.ServiceStatus{Sync: "Synced", Health: "Healthy", Message: "all is well"}
	_, hash := a.report(kept.ID, "", status)
	a.report(lost.ID, "", status)
	named := func(r *agentv1.ReportRequest) {
		r.Whole = true
		r.Services = []*agentv1.ServiceReport{{ServiceId: kept.ID, BaseHash: hash, NewHash: hash}}
		for n := range 2000 {
			r.Services = append(r.Services, &agentv1.ServiceReport{ServiceId: fmt.Sprint("unknown-", n), BaseHash: hash, NewHash: hash})
		}
	}
	answer, _ := a.report(kept.ID, hash, status, named)
	if len(answer.GetResync()) != 2000 || slices.Contains(answer.GetResync(), kept.ID) {
		t.Errorf("%d services are asked for again, want those that are not stored", len(answer.GetResync()))
	}
	for id, want := range map[string]string{kept.Name: "all is well", lost.Name: ""} {
		v := kept
		if id == lost.Name {
			v = lost
		}
		view, err := b.Parts().Fleet.Service(t.Context(), v.Ref())
		if err != nil || view.Status.Message != want {
			t.Errorf("%s: stored %+v, %v", id, view.Status, err)
		}
	}
}

func TestReportsAreChecked(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	tests := map[string]struct {
		report *agentv1.ReportRequest
		code   connect.Code
	}{
		"hash of other bytes": {&agentv1.ReportRequest{BootId: a.boot, Services: []*agentv1.ServiceReport{{ServiceId: "svc", NewHash: "00"}}}, connect.CodeInvalidArgument},
		"no service":          {&agentv1.ReportRequest{BootId: a.boot, Services: []*agentv1.ServiceReport{{}}}, connect.CodeInvalidArgument},
		"too many":            {&agentv1.ReportRequest{BootId: a.boot, Services: make([]*agentv1.ServiceReport, 501)}, connect.CodeInvalidArgument},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for i, r := range tc.report.Services {
				if r == nil {
					tc.report.Services[i] = &agentv1.ServiceReport{}
				}
			}
			_, err := a.calls().Report(t.Context(), withToken(a, tc.report))
			if connect.CodeOf(err) != tc.code {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestTwoAgentsOfOneIdentityConflict(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	for i, boot := range []string{"boot-1", "boot-2", "boot-1"} {
		_, err := a.calls().Ping(t.Context(), withToken(a, &agentv1.PingRequest{BootId: boot, AgentVersion: "v1", KubernetesVersion: "v1.36.3", Nodes: 3}))
		if i < 2 && err != nil {
			t.Fatal(err)
		}
		if i == 2 && connect.CodeOf(err) != connect.CodeAborted {
			t.Errorf("an earlier boot came back: %v", err)
		}
	}
	view, err := b.Parts().Fleet.ClusterByID(t.Context(), a.cluster)
	if err != nil || view.AgentVersion != "v1" || view.Message == "" {
		t.Errorf("cluster %+v, %v", view, err)
	}
}

func at(r *agentv1.ReportResponse) string {
	return event.Position{Incarnation: r.GetPosition().GetIncarnation(), Sequence: r.GetPosition().GetSequence()}.String()
}
