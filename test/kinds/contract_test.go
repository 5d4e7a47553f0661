package kinds

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The tables of this file are the existing platform's contract, on which
// repositories rely: scopes, required fields, defaults and enums. Paths are below
// spec.

const (
	clusterScoped = "AgentConfiguration AgentRuntime Catalog CloudConnection CustomCompatibilityMatrix FederatedCredential GitRepository " +
		"KubecostExtractor MetricsAggregate NamespaceCredentials Policy PrAutomation PrGovernance Project Provider ScmConnection " +
		"ServiceAccount UpgradeInsights"

	namespaced = "AgentRun BootstrapToken Cluster ClusterDrain ClusterSync ComplianceReportGenerator CustomHealth CustomStackRun " +
		"DeploymentSettings GeneratedSecret GlobalService Group HelmRepository InfrastructureStack IngressReplica MCPServer " +
		"NotificationRouter NotificationSink OIDCProvider ObservabilityProvider Observer Persona Pipeline PipelineGate " +
		"PluralCAPICluster PrAutomationTrigger SentinelRunJob SentinelTrigger ServiceContext ServiceDeployment StackDefinition " +
		"StackRunJob UpgradePlanCallout VirtualCluster"
)

var required = map[string]string{
	"BootstrapToken":            "projectRef tokenSecretRef",
	"Catalog":                   "author",
	"CloudConnection":           "provider",
	"Cluster":                   "nodePools[].name nodePools[].instanceType nodePools[].minSize nodePools[].maxSize",
	"ClusterDrain":              "flowControl",
	"ComplianceReportGenerator": "format",
	"FederatedCredential":       "issuer user",
	"GeneratedSecret":           "destinations[].name",
	"GitRepository":             "url",
	"HelmRepository":            "url",
	"InfrastructureStack": "type configuration.hooks[].cmd configuration.hooks[].afterStage environment[].name observableMetrics[].identifier " +
		"observableMetrics[].observabilityProviderRef configuration.aiApproval.enabled configuration.aiApproval.git " +
		"configuration.aiApproval.file jobSpec.namespace jobSpec.containers[].image",
	"IngressReplica":        "ingressRef hostMappings",
	"NamespaceCredentials":  "namespaces secretRef",
	"NotificationSink":      "type",
	"ObservabilityProvider": "type",
	"Observer":              "crontab target.type target.order target.git.gitRepositoryRef actions[].type",
	"Pipeline":              "stages[].name edges[].gates[].name edges[].gates[].type",
	"PipelineGate":          "id name type",
	"PluralCAPICluster":     "consoleTokenSecretRef capiClusterRef",
	"PrAutomation": "scmConnectionRef configuration[].name configuration[].type creates.templates[].destination creates.templates[].external " +
		"updates.regexReplacements[].regex updates.regexReplacements[].file updates.regexReplacements[].replacement " +
		"updates.yamlOverlays[].file updates.yamlOverlays[].yaml vendor.helm.url vendor.helm.chart vendor.helm.version " +
		"vendor.helm.destination",
	"PrAutomationTrigger": "branch",
	"PrGovernance": "type connectionRef configuration.serviceNow.url configuration.serviceNow.username " +
		"configuration.serviceNow.passwordSecretKeyRef",
	"PreviewEnvironmentTemplate": "flowRef template",
	"Project":                    "name",
	"ScmConnection":              "name type",
	"SentinelRunJob":             "runId",
	"SentinelTrigger":            "sentinelRef",
	"ServiceAccount":             "email",
	"ServiceDeployment":          "git.folder renderers[].path renderers[].type",
	"StackDefinition":            "steps[].cmd steps[].args steps[].stage deleteSteps[].cmd",
	"StackRunJob":                "runId",
	"VirtualCluster":             "kubeconfigRef credentialsRef",
}

var defaults = map[string]map[string]any{
	"AgentConfiguration":  {"pollImmediately": nil}, // true there; it has no effect here, so nothing sets it
	"GlobalService":       {"interval": "10m", "template.syncConfig.createNamespace": true},
	"InfrastructureStack": {"interval": "5m"},
	"KubecostExtractor":   {"interval": "1h"},
	"UpgradeInsights":     {"interval": "10m"},
	"ServiceDeployment": {
		"syncConfig.createNamespace": true, "syncConfig.deleteNamespace": false, "syncConfig.enforceNamespace": false,
		"syncConfig.requireOwnership": true, "templated": true, "reconciliation.driftDetection": true, "reconciliation.interval": "30m",
	},
}

// enums lists values by kind and path. A value after a + is Axle's own.
var enums = map[string]string{
	"CloudConnection provider":                         "aws gcp azure vsphere",
	"ComplianceReportGenerator format":                 "CSV JSON",
	"DeploymentSettings logging.driver":                "VICTORIA ELASTIC OPENSEARCH",
	"GlobalService distro":                             "GENERIC EKS AKS GKE RKE K3S OPENSHIFT",
	"HelmRepository provider":                          "BASIC BEARER GCP AZURE AWS",
	"InfrastructureStack type":                         "TERRAFORM TERRAGRUNT PULUMI ANSIBLE CUSTOM",
	"NotificationSink type":                            "SLACK TEAMS PLURAL +WEBHOOK +DISCORD +GOOGLE_CHAT",
	"ObservabilityProvider type":                       "DATADOG NEWRELIC",
	"Observer actions[].type":                          "PIPELINE PR AGENT",
	"Observer target.order":                            "SEMVER LATEST RENOVATE",
	"Observer target.type":                             "OCI HELM GIT ADDON EKS_ADDON",
	"Pipeline edges[].gates[].type":                    "APPROVAL WINDOW JOB SENTINEL",
	"Policy type":                                      "WORKBENCH STACK BINDING",
	"PrAutomation configuration[].condition.operation": "NOT GT LT EQ GTE LTE PREFIX SUFFIX",
	"PrAutomation role":                                "CLUSTER SERVICE PIPELINE UPDATE UPGRADE COST",
	"PrAutomation updates.yamlOverlays[].listMerge":    "OVERWRITE APPEND",
	"PrGovernance type":                                "WEBHOOK SERVICE_NOW",
	"ScmConnection type":                               "GITHUB GITLAB BITBUCKET BITBUCKET_DATACENTER AZURE_DEVOPS",
	"Sentinel checks[].type":                           "LOG KUBERNETES INTEGRATION_TEST",
	"ServiceDeployment renderers[].type":               "AUTO RAW HELM KUSTOMIZE +JSONNET +CUE +EXEC +WASM",
}

func TestKindsKeepTheContract(t *testing.T) {
	all := map[string]*definition{}
	for _, d := range definitions(t) {
		all[d.kind()] = d
	}
	for _, kind := range strings.Fields(clusterScoped) {
		if !all[kind].cluster() {
			t.Errorf("%s is namespaced", kind)
		}
	}
	for _, kind := range strings.Fields(namespaced) {
		if all[kind].cluster() {
			t.Errorf("%s is cluster-scoped", kind)
		}
	}
	for kind, paths := range required {
		must := map[string]bool{}
		all[kind].root().walk("", func(path string, _ *fieldSchema, required bool) { must[path] = required })
		for _, path := range strings.Fields(paths) {
			if !must["spec."+path] {
				t.Errorf("%s: spec.%s is not required", kind, path)
			}
		}
	}
	for kind, values := range defaults {
		for path, want := range values {
			if field := all[kind].fields()["spec."+path]; field == nil || field.Default != want {
				t.Errorf("%s: spec.%s is %+v, want the default %v", kind, path, field, want)
			}
		}
	}
	for at, values := range enums {
		kind, path, _ := strings.Cut(at, " ")
		var have []string
		for _, v := range all[kind].fields()["spec."+path].Enum {
			have = append(have, fmt.Sprint(v))
		}
		if want := strings.Fields(strings.ReplaceAll(values, "+", "")); !slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: spec.%s takes %q, want %q", kind, path, have, want)
		}
	}
}
