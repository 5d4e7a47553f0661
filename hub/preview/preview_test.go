package preview_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/preview"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// previewed is the fleet as previews see it.
type previewed struct{ *fleet.Fleet }

func (p previewed) Declared(ctx context.Context, ref fleet.Ref) (fleet.Service, error) {
	s, _, err := p.Fleet.Declared(ctx, ref)
	return s, err
}

func (p previewed) SpecAt(ctx context.Context, now fleet.AgentSpec, revision int64) (fleet.AgentSpec, error) {
	return fleet.SpecAt(ctx, p.Fleet, now, revision)
}

func packedFiles(t *testing.T, text string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, _, err := tarball.Write(&out, tarball.Folder(t.Context(), dir), tarball.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func openOf(t *testing.T, env *fleettest.Fleet, p *preview.Previews, cluster, service string) []preview.Open {
	t.Helper()
	specs, _, err := env.AgentSpecs(t.Context(), cluster, []string{service})
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Pending(t.Context(), cluster, specs)
	if err != nil {
		t.Fatal(err)
	}
	return all[service]
}

// TestPreviewIsForItsOwnClusterAndAnHour checks that only the agent of its
// cluster receives it, may fetch its files and may answer it; that only the
// service's number of diffs changes; and that it is answered once and deleted.
func TestPreviewIsForItsOwnClusterAndAnHour(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c, other := env.AddCluster("edge-1"), env.AddCluster("edge-2")
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		env.Move(web, 2)
		before, err := env.Service(t.Context(), web.Ref())
		if err != nil {
			t.Fatal(err)
		}
		p := &preview.Previews{Store: env.Store, Writer: env.Store, Fleet: previewed{env.Fleet}, Clock: env.Clock}
		files := packedFiles(t, "a: b")
		asked, err := p.Ask(t.Context(), "ann", web.Ref(), preview.Want{Files: files})
		if err != nil {
			t.Fatal(err)
		}
		open := openOf(t, env, p, c.ID, web.ID)
		if len(open) != 1 || open[0].Request != asked.Request || len(open[0].Spec.Service.Parts) != 1 {
			t.Fatalf("%+v", open)
		}
		content := open[0].Spec.Service.Parts[0].Digest
		if got, may, err := p.MayFetch(t.Context(), c.ID, content); err != nil || !may || !bytes.Equal(got, files) {
			t.Errorf("its agent does not get the files: %v %v", may, err)
		}
		if _, may, err := p.MayFetch(t.Context(), other.ID, content); err != nil || may {
			t.Errorf("another agent gets the files: %v", err)
		}
		answer := preview.Preview{ClusterID: other.ID, ServiceID: web.ID, Request: asked.Request, Error: "stolen"}
		if err := p.Answer(t.Context(), answer); err != nil {
			t.Fatal(err)
		}
		if _, got, err := p.Find(t.Context(), web.Ref(), asked.Request); err != nil || got.Answered {
			t.Errorf("another agent answers: %+v %v", got, err)
		}
		answer.ClusterID, answer.Error, answer.Differences = c.ID, "", []byte{1, 2}
		if err := p.Answer(t.Context(), answer); err != nil {
			t.Fatal(err)
		}
		if _, got, err := p.Find(t.Context(), web.Ref(), asked.Request); err != nil || !got.Answered || len(got.Differences) != 2 {
			t.Errorf("%+v %v", got, err)
		}
		if _, may, err := p.MayFetch(t.Context(), c.ID, content); err != nil || may || len(openOf(t, env, p, c.ID, web.ID)) != 0 {
			t.Errorf("what is answered is open: %v", err)
		}
		after, err := env.Service(t.Context(), web.Ref())
		if err != nil || after.Revision != before.Revision || after.Desired != before.Desired || after.SourceID != before.SourceID {
			t.Errorf("the service changed: %+v %v", after.Service, err)
		}

		// An earlier revision has its own settings and content.
		past, err := p.Ask(t.Context(), "ann", web.Ref(), preview.Want{Revision: 1})
		if err != nil {
			t.Fatal(err)
		}
		open = openOf(t, env, p, c.ID, web.ID)
		if len(open) != 1 || open[0].Spec.Service.Revision != 1 || open[0].Spec.Service.Desired.Digest == before.Desired.Digest {
			t.Errorf("%+v", open)
		}
		env.Clock.Advance(2 * time.Hour)
		if _, err := p.Ask(t.Context(), "ann", web.Ref(), preview.Want{Revision: 1}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Find(t.Context(), web.Ref(), past.Request); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("after two hours: %v", err)
		}
	})
}

func TestPreviewsAreBounded(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		p := &preview.Previews{Store: env.Store, Writer: env.Store, Fleet: previewed{env.Fleet}, Clock: env.Clock}
		for name, want := range map[string]preview.Want{
			"nothing":      {},
			"two things":   {Revision: 1, Files: []byte("x")},
			"no tarball":   {Files: []byte("this is no tarball")},
			"a large one":  {Files: make([]byte, preview.MaxFiles+1)},
			"a bomb":       {Files: packedFiles(t, strings.Repeat("a", 33<<20))},
			"no such past": {Revision: 99},
		} {
			if _, err := p.Ask(t.Context(), "ann", web.Ref(), want); !errcode.Is(err, errcode.Invalid) && !errcode.Is(err, errcode.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range 5 {
			if _, err := p.Ask(t.Context(), "ann", web.Ref(), preview.Want{Revision: 1}); err != nil {
				t.Fatal(err)
			}
		}
		before, err := env.Service(t.Context(), web.Ref())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Ask(t.Context(), "ann", web.Ref(), preview.Want{Revision: 1}); !errcode.Is(err, errcode.Exhausted) {
			t.Errorf("the sixth: %v", err)
		}
		if after, err := env.Service(t.Context(), web.Ref()); err != nil || after.DiffRequest != before.DiffRequest {
			t.Errorf("what was refused is asked for: %v", err)
		}
	})
}

// A project has so many open previews as its limit says, of all its services together.
func TestPreviewsOfAProjectAreCounted(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web, api := env.AddService("edge-1", "web"), env.AddService("edge-1", "api")
		env.Move(web, 1)
		env.Move(api, 1)
		limits := fleet.Limits{Previews: 2}
		if _, err := env.UpdateProject(t.Context(), "ann", "default", fleet.ProjectChange{Limits: &limits}); err != nil {
			t.Fatal(err)
		}
		p := &preview.Previews{Store: env.Store, Writer: env.Store, Fleet: previewed{env.Fleet}, Clock: env.Clock}
		ask := func(v fleet.ServiceView) (preview.Asked, error) {
			return p.Ask(t.Context(), "ann", v.Ref(), preview.Want{Revision: 1})
		}
		first, err := ask(web)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(api); err != nil {
			t.Fatal(err)
		}
		for _, v := range []fleet.ServiceView{web, api} {
			if _, err := ask(v); !errcode.Is(err, errcode.Forbidden) || !strings.Contains(err.Error(), "has 2 previews, and its limit is 2") {
				t.Errorf("a third one of %s: %v", v.Name, err)
			}
		}
		if err := env.Store.Write(t.Context(), func(ctx context.Context) error {
			return env.Store.AnswerPreview(ctx, preview.Preview{ServiceID: web.ID, ClusterID: web.ClusterID, Request: first.Request, Answered: true})
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(api); err != nil {
			t.Errorf("after one was answered: %v", err)
		}
	})
}

// However many previews of a guest wait for a cluster's agent, another project gets one.
func TestPreviewsOfAProjectHoldNobodyUp(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		env.AddCluster("edge-1")
		if _, err := env.CreateProject(ctx, "ann", fleet.NewProject{Name: "guest"}); err != nil {
			t.Fatal(err)
		}
		p := &preview.Previews{Store: env.Store, Writer: env.Store, Fleet: previewed{env.Fleet}, Clock: env.Clock}
		files := preview.Want{Files: packedFiles(t, "a")}
		given := 0
		var err error
		for n := range 5 {
			v := env.Must(env.CreateService(ctx, "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: fmt.Sprintf("guest-%d", n)}, Spec: fleettest.Spec("web"), Project: "guest"}))
			for range 4 {
				if _, err = p.Ask(ctx, "ann", v.Ref(), files); err != nil {
					break
				}
				given++
			}
		}
		if given != 8 || !errcode.Is(err, errcode.Exhausted) || !strings.Contains(err.Error(), "8 of its project") {
			t.Errorf("a project by itself got %d, then %v", given, err)
		}
		web := env.AddService("edge-1", "web")
		for n := range 4 {
			if _, err := p.Ask(ctx, "ann", web.Ref(), files); err != nil {
				t.Errorf("preview %d of another project: %v", n+1, err)
			}
		}
	})
}
