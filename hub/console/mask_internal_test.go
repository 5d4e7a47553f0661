package console

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	described "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/internal/mask"
)

// unrecorded are the calls that the audit log does not record, written by hand:
// a new call is recorded unless it is added here on purpose.
var unrecorded = []string{
	"Access/CanI", "ApplicationClients/Get", "ApplicationClients/ListLogins", "Logins/ListApplications", "Agents/UpgradeStatus", "Audit/Checkpoints", "Audit/List", "Audit/Verify", "Backends/GetMigration", "Backends/List",
	"Bindings/List", "Clusters/Get", "Clusters/List", "Clusters/ListComponents", "Contexts/Get", "Contexts/List", "Events/List", "Federation/List", "GlobalServices/Get", "GlobalServices/GetRollout", "GlobalServices/List", "Groups/Get", "Groups/List",
	"Hub/GetSyncWindows", "Hub/Status", "Logins/PollDevice", "ManagedNamespaces/Get", "ManagedNamespaces/List", "NotificationRouters/Get", "NotificationRouters/List", "NotificationRouters/ListEvents", "NotificationSinks/Get", "NotificationSinks/List", "Notifications/List", "Outputs/List", "Projects/Get", "Projects/List", "Providers/Get", "Providers/List", "Repositories/Get",
	"Repositories/List", "ServiceAccounts/List", "Services/Config", "Services/Get", "Services/GetTree", "Services/List", "Services/ListRevisions", "Services/ListTests",
	"Sessions/List", "Sessions/WhoAmI", "Tokens/List", "Users/Get", "Users/List", "Webhooks/List",
	"Clusters/Enrollment", "Clusters/GetTemplateVariables", "Operations/Get", "Operations/List", "Operations/ListTargets",
	// The proxy records these.
	"ClusterAPI/ReadLogs", "ClusterAPI/SearchLogs", "ClusterAPI/WriteObject",
	"Dashboards/Draw", "Metrics/LabelValues", "Metrics/Panels", "Metrics/Query", "Metrics/Series", "Observability/Sources",
	"ClusterAPI/ListObjects", "ClusterAPI/WatchObjects", "Logins/ListSessions",
	"ClusterAlerts/List", "ClusterAlerts/Worst", "ClusterAlerts/Links",
	"Fleet/Summary", "Fleet/HeatMap", "Fleet/NeedsYou", "Fleet/RecentChanges", "Fleet/QueryClusters", "Fleet/QueryServices", "Fleet/Search", "Fleet/Watch", "Fleet/SetTopics",
}

func TestOnlyKnownReadsAreNotRecorded(t *testing.T) {
	unrecorded := slices.Clone(unrecorded)
	for _, k := range described.Stored() {
		unrecorded = append(unrecorded, k.Calls.Path(k.Calls.List), k.Calls.Path(k.Calls.Get))
	}
	for procedure := range access {
		service, method := splitProcedure(procedure)
		if name := service + "/" + method; isRecorded(procedure) == slices.Contains(unrecorded, name) {
			t.Errorf("%s: recorded %t; see unrecorded in this test", name, isRecorded(procedure))
		}
	}
}

// plant puts a text into every text field of a message that names a secret,
// and returns how many there are.
func plant(m protoreflect.Message, secret string, depth int) (n int) {
	if depth > 6 {
		return 0
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap() && f.MapValue().Kind() == protoreflect.StringKind && f.MapKey().Kind() == protoreflect.StringKind && mask.HoldsSecret(f):
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("key").MapKey(), protoreflect.ValueOfString(secret))
			n++
		case f.IsMap():
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			n += plant(m.Mutable(f).List().AppendMutable().Message(), secret, depth+1)
		case f.IsList() && f.Kind() == protoreflect.StringKind && mask.HoldsSecret(f):
			m.Mutable(f).List().Append(protoreflect.ValueOfString(secret))
			n++
		case f.IsList():
		case f.Kind() == protoreflect.MessageKind:
			n += plant(m.Mutable(f).Message(), secret, depth+1)
		case f.Kind() == protoreflect.StringKind && mask.HoldsSecret(f):
			m.Set(f, protoreflect.ValueOfString(secret))
			n++
		}
	}
	return n
}

// For every message of the API, a value in a field for secrets does not appear
// in the record, not even where it occurs by accident.
func TestSecretFieldsOfEveryMessageAreMasked(t *testing.T) {
	const secret = "PLANTED-s3cret-value"
	planted := 0
	protoregistry.GlobalFiles.RangeFilesByPackage(hubv1.File_hub_v1_hub_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		messages := file.Messages()
		for i := range messages.Len() {
			m := newMessage(messages.Get(i))
			if m == nil {
				continue
			}
			n := plant(m.ProtoReflect(), secret, 0)
			planted += n
			var masker mask.Masker
			if text := masker.Text(m); strings.Contains(text, secret) {
				t.Errorf("%s: %s", messages.Get(i).FullName(), text)
			}
			if text := masker.Clean("it said " + secret); n > 0 && strings.Contains(text, secret) {
				t.Errorf("%s: the secret stands in another text", messages.Get(i).FullName())
			}
		}
		return true
	})
	if planted < 90 {
		t.Errorf("only %d secrets were planted", planted)
	}
}

func TestDocumentsAreMasked(t *testing.T) {
	const secret = "hunter2-hunter2"
	tests := map[string]string{
		"yaml":       "db:\n  password: " + secret + "\n  host: x\n",
		"json":       `{"db": {"apiKey": "` + secret + `"}}`,
		"block":      "tls:\n  privateKey: |\n    " + secret + "\n    more\n",
		"list":       "env:\n- name: DB_PASSWORD\n  value: " + secret + "\n",
		"list below": "secrets:\n- " + secret + "\n- {a: " + secret + "}\n",
		"second":     "a: b\n---\ntoken: " + secret + "\n",
		"comment":    "password: " + secret + " # " + secret + "\n",
		"anchor":     "password: &x " + secret + "\nother: *x\n",
		"in a URL":   "https://ann:" + secret + "@git.example.com/x.git",
		"no YAML":    "a: [\n  password: " + secret,
		"a key":      "-----BEGIN EC PRIVATE KEY-----\n" + secret + "\n-----END EC PRIVATE KEY-----\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			var m mask.Masker
			if got := m.Text(&hubv1.CreateProjectRequest{Name: "p", Description: text}); strings.Contains(got, secret) || !strings.Contains(got, `"p"`) {
				t.Errorf("%s", got)
			}
		})
	}
	var m mask.Masker
	plain := &hubv1.CreateProjectRequest{Name: "p", Description: "replicas: 3\nimage: x\n"}
	if got := m.Text(plain); !strings.Contains(got, `replicas: 3\nimage: x`) {
		t.Errorf("what is no secret was changed: %s", got)
	}
}

// newMessage makes an empty message of a kind that is linked in.
func newMessage(d protoreflect.MessageDescriptor) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil
	}
	return kind.New().Interface()
}
