package kinds

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
)

// reads are the verbs of calls that change nothing, and calls with other names
// that change nothing.
var reads = []string{
	"List", "Get", "Access/CanI", "Audit/Verify", "Audit/Checkpoint", "Audit/Checkpoints", "Sessions/WhoAmI", "Services/Diff", "Services/Preview", "Services/Config",
	"Agents/UpgradeStatus", "Hub/Status", "Hub/AtRisk", "ClusterAPI/WatchObjects", "Clusters/AgentManifests",
	"NotificationSinks/Test", // sends a message, and leaves nothing behind in the hub,
	// These change nothing in the hub: the cluster's objects are declared by services.
	"Clusters/Enrollment", "Clusters/Readiness", "Clusters/AdminKubeconfig", "ClusterAPI/WriteObject", "ClusterAPI/ReadLogs", "ClusterAPI/SearchLogs",
	"Observability/Sources", "Metrics/Query", "Metrics/Series", "Metrics/LabelValues", "Metrics/Panels", "Dashboards/Draw", "ClusterAlerts/Worst", "ClusterAlerts/Links",
	"Fleet/Summary", "Fleet/HeatMap", "Fleet/NeedsYou", "Fleet/RecentChanges", "Fleet/QueryClusters", "Fleet/QueryServices", "Fleet/Search", "Fleet/Watch", "Fleet/SetTopics",
}

// calls returns the methods of the hub's API by Service/Method.
func calls() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFilesByPackage(hubv1.File_hub_v1_hub_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				all[string(service.Name())+"/"+string(m.Name())] = m
			}
		}
		return true
	})
	return all
}

func reading(call string) bool {
	_, method, _ := strings.Cut(call, "/")
	return slices.Contains(reads, call) || strings.HasPrefix(method, reads[0]) || strings.HasPrefix(method, reads[1])
}

// Every call of the hub's API reads, or is in Writes, or in Exceptions.
func TestEveryWriteHasACRD(t *testing.T) {
	listed := map[string]int{}
	for _, w := range kinds.Writes {
		listed[w.Call]++
	}
	var exceptions []string
	for _, e := range kinds.Exceptions {
		exceptions = append(exceptions, e.What)
		for _, call := range e.Calls {
			listed[call]++
		}
	}
	all := calls()
	for call := range all {
		want := 1
		if reading(call) {
			want = 0
		}
		if listed[call] != want {
			t.Errorf("%s is listed %d times in api/kinds, want %d", call, listed[call], want)
		}
		delete(listed, call)
	}
	for call := range listed {
		t.Errorf("%s is listed in api/kinds, and the API has no such call", call)
	}
	want := []string{"sessions", "logins", "one-time tokens", "approvals", "key rotation", "ReplaceMachine", "SettleOrphan", "Destroy", "InstallComponents", "ConfirmRestore", "Drain", "Sync", "Refresh"}
	if !slices.Equal(exceptions, want) {
		t.Errorf("the exceptions are %q, want %q", exceptions, want)
	}
}

// Every field of a request has a path in an object, and no path is invented.
func TestEveryFieldOfAWriteHasAPath(t *testing.T) {
	fields := map[string]map[string]*fieldSchema{}
	for _, d := range definitions(t) {
		fields[d.kind()] = d.fields()
	}
	all := calls()
	for _, w := range kinds.Writes {
		for _, kind := range append([]string{w.Kind}, w.Also...) {
			if fields[kind] == nil {
				t.Errorf("%s: there is no kind %s", w.Call, kind)
			}
		}
		if w.Path != "" && fields[w.Kind][w.Path] == nil {
			t.Errorf("%s: %s has no field %s", w.Call, w.Kind, w.Path)
		}
		for name, path := range w.Fields {
			kind, at := w.Kind, path
			if other, there, ok := strings.Cut(path, ":"); ok {
				kind, at = other, there
			}
			if path != kinds.OfTheCall && !strings.HasPrefix(path, "metadata.") && fields[kind][at] == nil {
				t.Errorf("%s, %s: %s has no field %s", w.Call, name, kind, at)
			}
			if m := all[w.Call]; m != nil && m.Input().Fields().ByName(protoreflect.Name(name)) == nil {
				t.Errorf("%s has no field %s", w.Call, name)
			}
		}
		if m := all[w.Call]; m != nil && w.Fields != nil {
			for i := range m.Input().Fields().Len() {
				if name := string(m.Input().Fields().Get(i).Name()); w.Fields[name] == "" {
					t.Errorf("%s: no kind is named for its field %s", w.Call, name)
				}
			}
		}
	}
}

// unmanaged are the calls whose objects have no manager yet: of two tools that write
// them, the last one wins. The list may only become shorter.
var unmanaged = []string{"Backends/Migrate"}

// incidents are for whoever may write the object, whoever its manager is.
var incidents = []string{
	"Services/Pause", "Services/Resume", "Services/Rollback", "Agents/PauseUpgrade", "Agents/ResumeUpgrade", "Agents/AbortUpgrade",
	"GlobalServices/PauseRollout", "GlobalServices/ResumeRollout", "GlobalServices/AbortRollout",
}

// TestEveryWriteNamesItsManager walks the calls that write declared objects.
func TestEveryWriteNamesItsManager(t *testing.T) {
	methods := calls()
	var without []string
	for _, w := range kinds.Writes {
		if methods[w.Call].Input().Fields().ByName("management") == nil && !slices.Contains(incidents, w.Call) {
			without = append(without, w.Call)
		}
	}
	if !slices.Equal(without, unmanaged) {
		t.Errorf("no field management in the requests of %q, want %q", without, unmanaged)
	}
}
