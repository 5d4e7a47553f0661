package console

import (
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
)

// moving lists, by call, the fields that the access table has rows for: those
// that move an object, widen access to it, or make it use other objects.
func moving(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../testdata/access_table.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	call := ""
	for line := range strings.Lines(string(text)) {
		row, isField := strings.CutPrefix(strings.TrimSpace(line), "> ")
		if !isField {
			call, _, _ = strings.Cut(line, " ")
			continue
		}
		field, _, _ := strings.Cut(row, "  ")
		calls, of, named := strings.Cut(field, " ")
		if !named {
			all[call] = append(all[call], field)
			continue
		}
		service, methods, _ := strings.Cut(calls, "/")
		for method := range strings.SplitSeq(methods, ",") {
			call = service + "/" + method
			all[call] = append(all[call], of)
		}
	}
	return all
}

// requestFields lists the fields of a message and of those inside it.
func requestFields(m protoreflect.MessageDescriptor, under string) []string {
	var all []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		path := under + string(f.Name())
		if f.Message() == nil || f.IsMap() {
			all = append(all, path)
			continue
		}
		all = append(all, requestFields(f.Message(), path+".")...)
	}
	return all
}

// harmless gives the reason why each other field moves and widens nothing. A
// row names the calls it is for, empty for all, and fields; a field that ends
// with * covers all fields below it.
var harmless = []struct {
	calls, fields []string
	why           string
}{
	{nil, []string{"ref.cluster", "ref.name", "cluster", "objects.cluster"}, "names what the call is about, whose place its row finds; the call's own row plays it"},
	{nil, []string{"name", "id", "context.name", "outputs.name"}, "the same, or the name of what is made, which is one for the hub: a taken one is refused"},
	{[]string{"Clusters/List", "Repositories/List", "Services/List"}, []string{"project", "tags", "sync", "health", "freshness", "brief"}, "leaves out of what one may see; a project that is not to be seen is not there"},
	{[]string{"Fleet/"}, []string{"project", "group_by", "filter.*", "sort", "offset", "facets", "query", "before"}, "leaves out of what one may see, or orders it; a project or cluster that is not to be seen is not there"},
	{[]string{"Fleet/Watch", "Fleet/SetTopics"}, []string{"topics.*", "resume_token", "stream_id"}, "what is not to be seen is gone as what never was, and a stream is found for its own caller alone"},
	{nil, []string{"page_size", "page_token", "limit", "after", "continue", "table", "resource_version", "wait", "fresh", "dry_run", "fields", "merge", "unset", "set_metadata", "set_tags"}, "how much, or how, of what the call is about"},
	{nil, []string{"objects.group", "objects.version", "objects.resource", "objects.namespace", "objects.label_selector", "objects.field_selector", "path"}, "a part of that cluster's API, which the cluster's own RBAC judges for the person"},
	{nil, []string{"detach", "force", "revision", "resources"}, "a way to do it to what the call is about"},
	{nil, []string{"context.values", "context.secrets", "outputs.values", "outputs.secrets", "metadata", "tags"}, "content of what the call is about, for those who may read it anyway"},
	{nil, []string{"context.services", "context.updated_at", "context.updated_by", "context.version", "context.managed_by.*", "outputs.managed_by.*", "outputs.services", "outputs.updated_at", "outputs.updated_by", "outputs.version"}, "is not read in a request"},

	{[]string{"Operations/Start"}, []string{"action", "filter.*", "expected"}, "selects and does less than service_ids can: each service that it finds is checked like a named one"},
	{[]string{"Operations/ListTargets"}, []string{"failed_only"}, "leaves out of what one may see"},
	{[]string{"Services/Pause", "Services/Rollback", "Operations/Start"}, []string{"reason"}, "a text for people"},
	{[]string{"ClusterAPI/WriteObject"}, []string{"verb", "object", "subresource", "force"}, "a part of that cluster's API, which the cluster's own RBAC judges for the person"},
	{[]string{"Metrics/Query", "Metrics/Series", "Metrics/LabelValues", "Metrics/Panels", "Observability/Sources"}, []string{"source", "query", "match", "label", "level", "namespace", "type", "raw", "workloads", "time_micros", "start_micros", "end_micros", "step_micros"}, "a part of what the cluster lets the person see: hub/observe limits each question to it"},
	{[]string{"ClusterAPI/ReadLogs"}, []string{"namespace", "pod", "container", "follow", "previous", "tail_lines", "since_seconds"}, "the same"},
	{[]string{"ClusterAlerts/"}, []string{"project", "namespace", "service", "pod"}, "leaves out of what one may see, or fills a link that the caller could write"},
	{[]string{"ClusterAPI/SearchLogs"}, []string{"service", "namespace", "kind", "name", "pods", "containers", "follow", "previous", "tail_lines", "since", "until", "match", "exclude", "before", "after", "store.name", "store.query"}, "the same, and hub/observe limits what a store answers to the namespaces whose logs the person may read"},
	{[]string{"ClusterAPI/ListObjects"}, []string{"reveal"}, "a value of a Secret that the cluster lets the person read; the others are masked"},

	{[]string{"Bindings/List"}, []string{"at.*"}, "for administrators: the others get all of their own"},
	{nil, []string{"managed_by_tool"}, "leaves out of what one may see"},
	{nil, []string{"management.by.tool", "management.by.id", "management.take_over"}, "whoever may write an object may take it over: it prevents accidents, and gives no right"},

	{[]string{"Repositories/Create"}, []string{"type", "url", "auth", "credentials.*", "options.*"}, "of a repository that is new: every secret comes with the call"},
	{[]string{"Repositories/Update"}, []string{"auth", "credentials.*"}, "replaces every secret that was there"},
	{[]string{"Repositories/Update"}, []string{"options.max_bytes", "options.verify.mode", "options.verify.keys"}, "bounds and checks what comes; nothing is sent by it"},
	{[]string{"Webhooks/Create"}, []string{"provider", "secret"}, "how deliveries of the new webhook are checked"},

	{[]string{"Tokens/Create", "Tokens/CreateBootstrap", "ClusterAPI/CreateCredential", "Logins/StartDevice"}, []string{"lifetime_micros", "scopes"}, "narrows what the caller has; a longer life than the hub gives is refused"},
	{[]string{"Tokens/CreateBootstrap"}, []string{"name_pattern", "allowed_tags", "max_uses"}, "terms of new clusters of that project; those that exist are never claimed by name, and with more uses than one each waits for approval"},
	{[]string{"Clusters/AgentManifests"}, []string{"bootstrap_token", "namespace", "image", "hub_url", "poll_interval", "args", "least_privilege", "without_admins", "without_access", "without_people"}, "text for the caller, who applies it with rights of their own; nothing is stored, and the token is the one they sent"},
	{[]string{"Clusters/Create"}, []string{"from_template.*"}, "what is made in a project where the caller may create things: a template says for which projects and on which management clusters, and an administrator says that"},
	{[]string{"Clusters/Update"}, []string{"variables", "set", "pool.*"}, "of a cluster that the caller may change: the template says which there are, and is asked again whether it is for the project"},
	{[]string{"Clusters/ReplaceMachine"}, []string{"machine", "uid"}, "a machine of a cluster that the caller may change, as that cluster's own management cluster reported it"},
	{[]string{"Clusters/GetTemplateVariables"}, []string{"template"}, "names what an administrator registered; its variables are for whoever may create something"},
	{[]string{"Clusters/Readiness"}, []string{"to"}, "a version that the agent compares with; nothing is stored"},
	{[]string{"Dashboards/Draw"}, []string{"source", "dashboard.*", "variables", "graphs", "start_micros", "end_micros", "step_micros"}, "which metrics of that cluster: each query is limited to the namespaces that the cluster lets the caller see, and nothing is stored"},
	{[]string{"Clusters/Move"}, []string{"plan", "confirm"}, "changes nothing, or allows what the move of the cluster does, which its writer may do anyway"},
	{[]string{"Access/CanI"}, []string{"action", "place.*"}, "answers about the caller; what is not to be seen is answered as if it were not there"},
	{[]string{"Logins/", "Sessions/Setup", "Federation/Exchange"}, []string{"client", "code", "verifier", "device_code", "setup_token", "email", "grant_type", "subject_token", "subject_token_type", "trust"}, "proves who calls, or gives nothing"},

	{[]string{"Logins/EndSessions"}, []string{"tokens"}, "ends more of the caller's own"},

	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, gitParts("spec.git", "spec.sources.git", "spec.helm.git"), "a part of a repository that the caller may read: another part is read anew, played as spec.git"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, []string{"spec.sources.path", "spec.sources.chart", "spec.sources.version", "spec.helm.chart", "spec.helm.version"}, "the same, of charts"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, []string{"spec.helm.release", "spec.helm.values", "spec.helm.values_files", "spec.helm.ignore_hooks", "spec.helm.ignore_crds", "spec.helm.lua_script", "spec.helm.lua_file", "spec.helm.lua_folder", "spec.helm.kustomize_postrender", "spec.helm.upgrade"}, "how what is there is rendered, without network"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, []string{"spec.renderers.*", "spec.kustomize.*"}, "steps over files that are there: nothing is fetched for them, and tools are of the agent's own list"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, syncConfig("create_namespace", "delete_namespace", "enforce_namespace", "require_ownership", "labels", "annotations", "diff_normalizers.*"), "how it is applied: within the limits of the service's project, which the hub and the agent hold it to"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, syncConfig("prune"), "off deletes less; on deletes what the service owns, with its own rights, which a deletion of the service does too"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, []string{"spec.namespace", "spec.service_account"}, "where on its cluster and as whom: within the limits of the service's project, which the hub and the agent hold it to"},
	{[]string{"GlobalServices/Apply"}, []string{"settings.tags", "settings.distro", "settings.mgmt", "settings.ignore_clusters"}, "narrows the clusters of the project, or of the hub, that it may select anyway"},
	{[]string{"GlobalServices/Apply"}, []string{"settings.cascade", "settings.reparent", "settings.interval_micros", "settings.context", "settings.rollout.*"}, "what happens to services of that project, each of which the caller may change and delete too"},
	{[]string{"ManagedNamespaces/Apply"}, []string{"settings.tags", "settings.distro"}, "narrows the clusters of the project, or of the hub, that it may select anyway"},
	{[]string{"ManagedNamespaces/Apply"}, []string{"settings.description", "settings.labels", "settings.annotations", "settings.cascade"}, "how a namespace is that the caller may manage anyway, which a project needs cluster-scoped objects for"},
	{[]string{"ManagedNamespaces/Apply"}, []string{"settings.pull_secrets"}, "names in the namespace itself: no Secret is read or copied"},
	{[]string{"NotificationSinks/Apply"}, []string{"settings.type", "settings.priority", "url", "secret", "unsigned"}, "where what its routers send goes, for those who may write its project; the key that signs is given anew with another URL, and the other parts of a URL are sealed"},
	{[]string{"NotificationSinks/Apply"}, []string{"settings.users", "settings.groups"}, "they see of a notification what they may read when they read it"},
	{[]string{"Applications/Apply"}, []string{"settings.users", "settings.groups"}, "they log in only if they may read the project"},
	{[]string{"Applications/Apply"}, []string{"settings.redirect_uris", "settings.post_logout_redirect_uris", "settings.back_channel_logout_uri"}, "below a domain that an administrator gave the project, or on a person's own machine"},
	{[]string{"Applications/Apply"}, []string{"settings.namespace", "settings.secret", "settings.client_id_key", "settings.client_secret_key", "settings.issuer_key"}, "where on its cluster: within the limits of the project, which the hub and the agent hold it to"},
	{[]string{"Applications/Apply"}, []string{"settings.client_id", "settings.client_secret"}, "of a client that is nobody else's: a taken id and those of other forms are refused"},
	{[]string{"Applications/Apply"}, []string{"settings.title", "settings.public", "settings.groups_prefix", "settings.bound_groups_only", "settings.access_lifetime", "settings.id_lifetime", "settings.refresh_lifetime", "settings.second_factor", "settings.signing_algorithm"}, "how people are signed in to it, within the bounds of the hub"},
	{[]string{"TelemetrySources/Apply"}, []string{"settings.type", "settings.namespace", "settings.service", "settings.port", "settings.scheme", "settings.path_prefix", "settings.url", "settings.ca", "settings.tenant", "settings.namespace_label", "settings.cluster_label", "settings.cluster_value"}, "where data of the cluster of its project are: whoever may change the cluster says so, and no credential follows a changed address"},
	{[]string{"TelemetrySources/Apply"}, []string{"settings.auth", "settings.username", "settings.password", "settings.token"}, "credentials for the address beside them, kept sealed"},
	{[]string{"ApplicationClients/Rotate"}, []string{"overlap_micros", "now"}, "how long what the application has stays valid"},
	{[]string{"ApplicationClients/EndLogins"}, []string{"user"}, "somebody who logged in to that application; they may log in again"},
	{[]string{"Logins/LeaveApplication"}, []string{"client_id"}, "ends the caller's own logins there"},
	{[]string{"NotificationRouters/Apply"}, []string{"settings.events", "settings.filters.*"}, "leaves out of the events of its project"},
	{[]string{"Notifications/"}, []string{"unread", "up_to"}, "of the caller's own notifications"},
	{[]string{"Services/Preview"}, []string{"source_ref", "repository", "refresh", "files", "request", "changed_only"}, "what the service is compared with, by whoever may change it to that; the repository is one that it follows, and what is not is answered as if it were not there"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, []string{"spec.secret_refs"}, "within what the backend allows the service's project; read anew when the service moves"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, []string{"spec.dependencies.name"}, "a name on a cluster that the caller may read or is on; the service waits for it, and gets nothing of it"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, []string{"spec.sync_windows.*"}, "closes more; it opens nothing that the project or the hub keeps closed"},
	{[]string{"Services/", "GlobalServices/", "ManagedNamespaces/"}, []string{"spec.configuration", "spec.secrets", "spec.templated", "spec.protect", "spec.detach", "spec.docs_path", "spec.version", "spec.drift", "spec.dry_run"}, "the service's own"},
}

// gitParts are the fields of Git blocks that select the part.
func gitParts(blocks ...string) (all []string) {
	for _, block := range blocks {
		for _, field := range []string{"ref", "folder", "files", "submodules", "lfs"} {
			all = append(all, block+"."+field)
		}
	}
	return all
}

// syncConfig are fields of the sync configuration, each by name: a new one says for
// itself what it widens.
func syncConfig(fields ...string) (all []string) {
	for _, field := range fields {
		all = append(all, "spec.sync_config."+field)
	}
	return all
}

// TestEveryFieldSaysWhetherItMovesSomething fails for a request field that is
// in neither list. It skips calls that only administrators may make, because
// they can widen nothing.
func TestEveryFieldSaysWhetherItMovesSomething(t *testing.T) {
	moves, used := moving(t), make([]bool, len(harmless))
	reason := func(call, field string) bool {
		found := false
		for i, row := range harmless {
			inCall := row.calls == nil || slices.ContainsFunc(row.calls, func(c string) bool { return c == call || strings.HasSuffix(c, "/") && strings.HasPrefix(call, c) })
			if inCall && slices.ContainsFunc(row.fields, func(f string) bool {
				below, all := strings.CutSuffix(f, "*")
				return f == field || all && strings.HasPrefix(field, below)
			}) {
				found, used[i] = true, true
			}
		}
		return found
	}
	for procedure, action := range access {
		if action == identity.ActionAdmin {
			continue
		}
		service, method := splitProcedure(procedure)
		call := service + "/" + method
		fields := requestFields(hubv1.MethodNamed(call).Input(), "")
		for _, field := range fields {
			if !slices.Contains(moves[call], field) && !reason(call, field) {
				t.Errorf("%s: %s may put a thing elsewhere or let more people at it: say below the call in hub/testdata/access_table.txt what it needs, or here why it is harmless", call, field)
			}
		}
		for _, field := range moves[call] {
			if !slices.ContainsFunc(fields, func(f string) bool { return f == field || strings.HasPrefix(f, field+".") }) {
				t.Errorf("%s has no field %s, which hub/testdata/access_table.txt lists", call, field)
			}
		}
	}
	for i, row := range harmless {
		if !used[i] {
			t.Errorf("no request has one of %v any more", row.fields)
		}
	}
}
