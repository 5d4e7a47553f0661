package console

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
)

// procedures lists every call of people's API.
func procedures() map[string]bool {
	all := map[string]bool{}
	protoregistry.GlobalFiles.RangeFilesByPackage(hubv1.File_hub_v1_hub_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				all["/"+string(service.FullName())+"/"+string(service.Methods().Get(j).Name())] = true
			}
		}
		return true
	})
	return all
}

// withoutIdentity are the calls that anybody may make: what makes an identity.
var withoutIdentity = []string{"Sessions/Setup", "Federation/Exchange", "Logins/Trade", "Logins/StartDevice", "Logins/PollDevice"}

// hubWide are the calls that read and are about the hub as a whole.
var hubWide = []string{"Backends/List", "Backends/GetMigration", "Hub/Status"}

func TestEveryCallSaysWhoMayMakeIt(t *testing.T) {
	listed := procedures()
	named := func(procedure string, names []string) bool {
		for _, name := range names {
			if strings.HasSuffix(procedure, "."+name) {
				return true
			}
		}
		return false
	}
	for procedure := range listed {
		if _, ok := access[procedure]; !ok {
			t.Errorf("%s is not in access.go: decide who may call it", procedure)
		}
	}
	for procedure, action := range access {
		if !listed[procedure] {
			t.Errorf("%s is in access.go but not in the API", procedure)
		}
		switch _, placed := scopes[procedure]; {
		case action == open:
			if !named(procedure, withoutIdentity) {
				t.Errorf("%s needs no identity", procedure)
			}
		case action == identity.ActionAdmin || action == identity.ActionSelf || action == identity.ActionSelfChange:
			if placed {
				t.Errorf("%s is for %s wherever it is about, and its row has a finder", procedure, action)
			}
		case !placed && !named(procedure, hubWide):
			t.Errorf("the row of %s has no finder: say how the place that it is about is found", procedure)
		}
	}
}

// reading are the calls that a token with the scope read may make, by what their names
// begin with.
var reading = []string{
	"List", "Get", "Watch", "Query", "Search", "Summary", "HeatMap", "NeedsYou", "RecentChanges", "UpgradeStatus", "Status", "WhoAmI", "CanI", "Config", "Enrollment",
	"AgentManifests", "Read", "LabelValues", "Panels", "Series", "Sources", "Draw", "Worst", "Links",
}

// decidedLater are the calls whose name is that of a change and whose action is that of
// a read, with who decides.
var decidedLater = map[string]string{
	"Tokens/Create":               "it gives nothing that the caller does not have, and ends with the caller's token",
	"Tokens/Revoke":               "identity.Principal.MayEnd",
	"Logins/EndSession":           "identity.Principal.MayEnd",
	"ClusterAPI/CreateCredential": "each use of it is judged by the scopes of the token",
	"ClusterAPI/CreateTicket":     "its use is judged by the scopes of the token",
	"ClusterAPI/WriteObject":      "hub/tunnel/authproxy refuses it without the scope write",
	"Fleet/SetTopics":             "what the caller's own stream is about",
}

// A token with the scope read changes nothing, also not what is its person's own.
func TestReadScopeChangesNothing(t *testing.T) {
	later := maps.Clone(decidedLater)
	for procedure, action := range access {
		if action != identity.ActionRead && action != identity.ActionSelf {
			continue
		}
		call := procedure[strings.LastIndex(procedure, ".")+1:]
		_, method, _ := strings.Cut(call, "/")
		reads := slices.ContainsFunc(reading, func(prefix string) bool { return strings.HasPrefix(method, prefix) })
		if _, decided := later[call]; reads == decided {
			t.Errorf("%s needs only %s: its name begins like a read: %v, decided later: %v", call, action, reads, decided)
		}
		delete(later, call)
	}
	for call := range later {
		t.Errorf("%s is not a call that the scope read gives", call)
	}
}
