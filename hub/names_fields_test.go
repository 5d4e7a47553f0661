package hub_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// namedFields are the string fields of requests that name something of the hub, by what they
// name, with the tests that write them as their own, as another's, as what others took
// since, as what was deleted and taken, and as what can be computed. A field is given by
// its name, or as MESSAGE.NAME where fields of that name mean different things.
//
// Custom resources need no rows of their own: the operator and axle apply turn each into
// one of these requests (test/kinds, TestEveryFieldOfAWriteHasAPath).
var namedFields = []struct{ of, fields, tests string }{
	{"a repository", "repository Git.url Source.url Helm.url CreateRepositoryRequest.url UpdateRepositoryRequest.url PreviewServiceRequest.source_ref",
		"TestEveryReferenceIsBoundWhenItIsWritten TestNamesOfRepositories TestAComputedNameIsNotAdopted TestAnAddressThatOthersUseIsKept TestNobodyNamesWhatIsFollowedForAnother"},
	{"a cluster", "cluster cluster_ids handle ignore_clusters", "TestNamesOfOthersAreNotTaken TestFieldsThatMoveThingsNeedTheirNewPlace TestAFieldThatNamesWhatIsHiddenTellsNothing"},
	{"a tag", "tags allowed_tags ServiceFilter.tag ClusterFilter.tag", "TestTagsOfWritersDoNotCountForTheWholeFleet TestNamesOfOthersAreNotTaken"},
	{"a project", "project", "TestFieldsThatMoveThingsNeedTheirNewPlace TestMovingAServiceIsCreatingItThere TestBindingsGiveNothingInAProjectOfAdministrators"},
	{"a service", "service service_ids parent_id global_service Dependency.name", "TestAFieldThatNamesWhatIsHiddenTellsNothing TestNamesOfOthersAreNotTaken TestANamespaceSaysWhoseServiceIsInItsWay"},
	{"values", "contexts Import.stack", "TestNamesOfWhatIsUsedAreNotTaken TestOutputsOfOthersAreWaitedForLikeMissingOnes"},
	{"an account of a cluster", "service_account accounts", "TestAnAccountNeedsConsent TestAccountsInUseGoOn"},
	{"a sink", "sinks", "TestNamesOfWhatIsUsedAreNotTaken"},
	{"a person, or an account of the hub", "user users account subject email AddMemberRequest.group RemoveMemberRequest.group NotificationSinkSettings.groups Provider.groups trust",
		"TestNamesOfWhatIsUsedAreNotTaken TestNamesOfOthersAreNotTaken TestAddressesAreComparedAsASCII TestUnverifiedAddressesNameNobody"},
	{"what the call is about", "id name backend MigrateRequest.from MigrateRequest.to failed_of provider replica device_code client_id",
		"TestEveryRouteAnswersAsTheTableSays TestListsShowWhatOneMaySee TestNamesOfOthersAreNotTaken"},
}

// nameless are the string fields that name nothing of the hub: texts, files and versions of
// a repository, objects within a cluster, settings, secrets.
const nameless = `
access_key_id action actions actor after agent_version annotations api_url app_id args as assume_role_arn audience auth bootstrap_token ca_pem
callback_url cascade chart claims client client_certificate client_key client_secret code configuration container context continue description distro
docs_path drift duration email_domains endpoint events expression field_selector fields file files folder freshness grant_type group group_by
groups_claim hash health hints hub_url image installation_id issuer json_pointers key key_id keys kind kinds known_hosts kubernetes_version
kustomize_postrender label_selector labels libs logout_url lua_file lua_folder lua_script managed_by_tool max_unavailable metadata mode module
name_pattern namespace namespaces object package page_token parameters passphrase password path pipeline pod poll_interval priority private_key proxy
proxy_password proxy_username pull_secrets query reason ref regex region release resource resource_version resources result resume_token reveal
schedule scopes secret secret_access_key secret_refs secrets service_account_json session_token set setup_token sort stream_id subject_kind
subject_token subject_token_type subresource sync tenant_id text time_zone title token_scopes tool tunnel type unset updated_by url username value
values values_files verb verdict verifier version waves`

// Every string field of a request says what it names, and each noun has its tests. A new
// field fails here until somebody decided which it is.
func TestEveryFieldThatNamesSomethingHasATest(t *testing.T) {
	known, used := map[string]string{}, map[string]bool{}
	for _, field := range strings.Fields(nameless) {
		known[field] = "nothing"
	}
	all := testNames(t)
	for _, n := range namedFields {
		for _, field := range strings.Fields(n.fields) {
			if known[field] != "" {
				t.Errorf("%s names %s and %s", field, known[field], n.of)
			}
			known[field] = n.of
		}
		for _, test := range strings.Fields(n.tests) {
			if !all[test] {
				t.Errorf("%s is shown by %s, and there is no such test", n.of, test)
			}
		}
	}
	var missing []string
	for _, field := range fieldsOfRequests() {
		_, short, _ := strings.Cut(field, ".")
		at := field
		if known[field] == "" {
			at = short
		}
		if used[at] = true; known[at] == "" {
			missing = append(missing, field)
		}
	}
	if len(missing) > 0 {
		t.Errorf("these fields say nowhere what they name: %q", missing)
	}
	for field, of := range known {
		if !used[field] {
			t.Errorf("%s, which names %s, is no field of a request", field, of)
		}
	}
}

// Every field of a spec that names a repository is a row of references.
func TestEveryReferenceOfASpecIsInTheTable(t *testing.T) {
	var have, want []string
	for _, r := range references {
		field, _, _ := strings.Cut(strings.ReplaceAll(r.field, "[0]", ""), " ")
		have = append(have, field)
	}
	var walk func(at string, m protoreflect.MessageDescriptor)
	walk = func(at string, m protoreflect.MessageDescriptor) {
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			switch name := string(f.Name()); {
			case name == "repository" || name == "url":
				want = append(want, at+name)
			case name == "renderers": // what their charts name has no effect, and the answer says so
			case f.Message() != nil && !f.IsMap() && strings.Count(at, ".") < 4:
				walk(at+name+".", f.Message())
			}
		}
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName("axle.hub.v1.ServiceSpec")
	spec, ok := found.(protoreflect.MessageDescriptor)
	if err != nil || !ok {
		t.Fatal(err)
	}
	walk("", spec)
	slices.Sort(have)
	slices.Sort(want)
	if have = slices.Compact(have); !slices.Equal(have, want) {
		t.Errorf("the table has %q, and a spec %q", have, want)
	}
}

// fieldsOfRequests are the string fields of all requests of people, as MESSAGE.NAME.
func fieldsOfRequests() (all []string) {
	seen := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if f.IsMap() && f.MapKey().Kind() == protoreflect.StringKind || f.Kind() == protoreflect.StringKind {
				all = append(all, string(m.Name())+"."+string(f.Name()))
			}
			if f.IsMap() {
				f = f.MapValue()
			}
			if f.Message() != nil {
				walk(f.Message())
			}
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("axle.hub.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				walk(file.Services().Get(i).Methods().Get(j).Input())
			}
		}
		return true
	})
	slices.Sort(all)
	return all
}

// testNames are the tests of the hub.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ := strings.Cut(rest, "(")
				all["Test"+name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
