package console

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/spec/convert/converttest"
	"github.com/axle-cd/axle/hub/fleet"
)

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func specView(spec fleet.Spec) *hubv1.ServiceSpec {
	v := fleet.ServiceView{}
	v.Spec = spec
	return service(v).GetSpec()
}

func TestEveryFieldOfASpecIsReadAndShown(t *testing.T) {
	lost := converttest.Lost(func(m *hubv1.ServiceSpec) string { return jsonOf(t, specOf(m)) })
	if len(lost) > 0 {
		t.Errorf("fields that people set and the hub does not see: %q", lost)
	}
	lost = converttest.Lost(func(spec *fleet.Spec) string { return jsonOf(t, specView(*spec)) })
	if diff := cmp.Diff([]string{"helm.chartPath", "renderers.helm.chartPath", "syncWindows.level"}, lost); diff != "" {
		t.Errorf("fields that people do not see (-want +got):\n%s", diff)
	}
}

// The JSON of a spec is the same in the API and in the database.
func TestASpecHasOneJSON(t *testing.T) {
	sent := &hubv1.ServiceSpec{}
	converttest.Fill(sent)
	spec := specOf(sent)
	if diff := cmp.Diff(sent, specView(spec), protocmp.Transform()); diff != "" {
		t.Errorf("read and shown (-sent +shown):\n%s", diff)
	}
	var read hubv1.ServiceSpec
	if err := protojson.Unmarshal([]byte(jsonOf(t, spec)), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, &read, protocmp.Transform()); diff != "" {
		t.Errorf("JSON (-sent +read):\n%s", diff)
	}
	if got := specOf(nil); !cmp.Equal(got, fleet.Spec{}) {
		t.Errorf("no spec is read as %v", got)
	}
}
