package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// WorkbenchTool is a tool that models may use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axwbt
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.spec.tool`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type WorkbenchTool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WorkbenchToolSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No tool is called: the hub has no workbenches yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// WorkbenchToolSpec says which tool it is, and how to log in.
type WorkbenchToolSpec struct {
	// Name that models see; unset is metadata.name.
	// +kubebuilder:validation:Pattern=`^[a-z0-9_]+$`
	Name *string `json:"name,omitempty"`
	// Tool selects the field of configuration that is used.
	// +kubebuilder:validation:Enum=HTTP;ELASTIC;DATADOG;PROMETHEUS;LOKI;TEMPO;SENTRY;MCP;LINEAR;ATLASSIAN;SPLUNK;DYNATRACE;CLOUDWATCH;AZURE;CLOUD;JAEGER;EXA;GITHUB;SLACK;TEAMS;GITLAB;BITBUCKET;BITBUCKET_DATACENTER;AZURE_DEVOPS;PAGERDUTY;OPENSEARCH;LAMBDA;CLOUD_RUN;AZURE_FUNCTION;DOCKER
	Tool string `json:"tool"`
	// Categories of the tool.
	Categories []string `json:"categories,omitempty"`
	// Approval requires a person to approve each use.
	Approval *bool `json:"approval,omitempty"`
	// ProjectRef is the Project of the tool; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// MCPServerRef is the MCPServer of a tool of type MCP.
	MCPServerRef *ObjectReference `json:"mcpServerRef,omitempty"`
	// CloudConnectionRef is the CloudConnection of a tool of type CLOUD.
	CloudConnectionRef *ObjectReference `json:"cloudConnectionRef,omitempty"`
	// ScmConnectionRef is the ScmConnection of a tool for a Git server.
	ScmConnectionRef *ObjectReference `json:"scmConnectionRef,omitempty"`
	// Bindings of the tool.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Configuration of the tool.
	Configuration *WorkbenchToolConfiguration `json:"configuration,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// WorkbenchToolConfiguration configures one tool.
type WorkbenchToolConfiguration struct {
	// HTTP calls a URL.
	HTTP *ToolHTTP `json:"http,omitempty"`
	// Elastic reads Elasticsearch.
	Elastic *ToolElastic `json:"elastic,omitempty"`
	// Opensearch reads OpenSearch.
	Opensearch *ToolOpensearch `json:"opensearch,omitempty"`
	// Prometheus reads metrics.
	Prometheus *ToolPrometheus `json:"prometheus,omitempty"`
	// Loki reads logs.
	Loki *ToolTenantLogin `json:"loki,omitempty"`
	// Tempo reads traces.
	Tempo *ToolTenantLogin `json:"tempo,omitempty"`
	// Jaeger reads traces.
	Jaeger *ToolLogin `json:"jaeger,omitempty"`
	// Splunk reads logs.
	Splunk *ToolLogin `json:"splunk,omitempty"`
	// Datadog reads Datadog.
	Datadog *ToolDatadog `json:"datadog,omitempty"`
	// Dynatrace reads Dynatrace.
	Dynatrace *ToolDynatrace `json:"dynatrace,omitempty"`
	// Cloudwatch reads CloudWatch.
	Cloudwatch *ToolCloudwatch `json:"cloudwatch,omitempty"`
	// Azure reads Azure.
	Azure *ToolAzure `json:"azure,omitempty"`
	// Sentry reads Sentry.
	Sentry *ToolAccessToken `json:"sentry,omitempty"`
	// Linear reads issues.
	Linear *ToolLinear `json:"linear,omitempty"`
	// Slack writes messages.
	Slack *ToolSlack `json:"slack,omitempty"`
	// Pagerduty reads incidents.
	Pagerduty *ToolPagerduty `json:"pagerduty,omitempty"`
	// Teams writes messages.
	Teams *ToolTeams `json:"teams,omitempty"`
	// Atlassian reads issues.
	Atlassian *ToolAtlassian `json:"atlassian,omitempty"`
	// Exa searches the web.
	Exa *ToolExa `json:"exa,omitempty"`
	// GitHub uses GitHub.
	GitHub *ToolGitHub `json:"github,omitempty"`
	// GitLab uses GitLab.
	GitLab *ToolToken `json:"gitlab,omitempty"`
	// Bitbucket uses Bitbucket.
	Bitbucket *ToolToken `json:"bitbucket,omitempty"`
	// BitbucketDatacenter uses Bitbucket Data Center.
	BitbucketDatacenter *ToolToken `json:"bitbucketDatacenter,omitempty"`
	// AzureDevops uses Azure DevOps.
	AzureDevops *ToolToken `json:"azureDevops,omitempty"`
	// Lambda calls a function of AWS Lambda.
	Lambda *ToolLambda `json:"lambda,omitempty"`
	// CloudRun calls a service of Cloud Run.
	CloudRun *ToolFunction `json:"cloudRun,omitempty"`
	// AzureFunction calls a function of Azure Functions.
	AzureFunction *ToolFunction `json:"azureFunction,omitempty"`
	// Docker reads a registry.
	Docker *ToolDocker `json:"docker,omitempty"`
}

// ToolHTTP calls a URL.
type ToolHTTP struct {
	// URL to call.
	URL string `json:"url"`
	// Method of the call.
	// +kubebuilder:validation:Enum=GET;POST;PUT;DELETE;PATCH
	Method string `json:"method"`
	// Function means that the URL is a cloud function.
	Function *bool `json:"function,omitempty"`
	// Headers of the call.
	Headers []ToolHeader `json:"headers,omitempty"`
	// Body of the call.
	Body *string `json:"body,omitempty"`
	// InputSchema is a JSON schema of the input.
	// +kubebuilder:pruning:PreserveUnknownFields
	InputSchema *runtime.RawExtension `json:"inputSchema"`
}

// ToolHeader is a header of a call.
type ToolHeader struct {
	// Name of the header.
	Name string `json:"name,omitempty"`
	// Value of the header.
	Value string `json:"value,omitempty"`
}

// ToolElastic reads Elasticsearch.
type ToolElastic struct {
	// URL of its API.
	URL string `json:"url"`
	// Username to log in with.
	Username string `json:"username"`
	// PasswordSecretRef is a Secret's key that holds the password.
	PasswordSecretRef *KeySelector `json:"passwordSecretRef,omitempty"`
	// Index is the name of the index.
	Index string `json:"index"`
}

// ToolOpensearch reads OpenSearch.
type ToolOpensearch struct {
	// Host is the URL of OpenSearch.
	Host string `json:"host"`
	// Index is the name of the index.
	Index string `json:"index"`
	// AWSAccessKeyIDSecretRef is a Secret's key that holds an access key's id.
	AWSAccessKeyIDSecretRef *KeySelector `json:"awsAccessKeyIdSecretRef,omitempty"`
	// AWSSecretAccessKeySecretRef is a Secret's key that holds the secret access
	// key.
	AWSSecretAccessKeySecretRef *KeySelector `json:"awsSecretAccessKeySecretRef,omitempty"`
	// AWSRegion of the cluster of OpenSearch.
	AWSRegion *string `json:"awsRegion,omitempty"`
	// AssumeRoleArn is a role to assume.
	AssumeRoleArn *string `json:"assumeRoleArn,omitempty"`
	// UsePodIdentity logs in with the identity of the pod.
	UsePodIdentity *bool `json:"usePodIdentity,omitempty"`
}

// ToolLogin is a URL and how to log in, with a token or a password.
type ToolLogin struct {
	// URL of its API.
	URL string `json:"url"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef *KeySelector `json:"tokenSecretRef,omitempty"`
	// Username to log in with.
	Username *string `json:"username,omitempty"`
	// PasswordSecretRef is a Secret's key that holds the password.
	PasswordSecretRef *KeySelector `json:"passwordSecretRef,omitempty"`
}

// ToolTenantLogin is a ToolLogin for one of several tenants.
type ToolTenantLogin struct {
	ToolLogin `json:",inline"`
	// TenantID of the tenant.
	TenantID *string `json:"tenantId,omitempty"`
}

// ToolPrometheus reads metrics.
type ToolPrometheus struct {
	ToolTenantLogin `json:",inline"`
	// AWSSigv4 signs requests with AWS Signature Version 4.
	AWSSigv4 *bool `json:"awsSigv4,omitempty"`
	// AWSAccessKeyIDSecretRef is a Secret's key that holds an access key's id.
	AWSAccessKeyIDSecretRef *KeySelector `json:"awsAccessKeyIdSecretRef,omitempty"`
	// AWSSecretAccessKeySecretRef is a Secret's key that holds the secret access
	// key.
	AWSSecretAccessKeySecretRef *KeySelector `json:"awsSecretAccessKeySecretRef,omitempty"`
	// AWSRegion of the service.
	AWSRegion *string `json:"awsRegion,omitempty"`
}

// ToolDatadog reads Datadog.
type ToolDatadog struct {
	// Site is the Datadog site.
	Site *string `json:"site,omitempty"`
	// APIKeySecretRef is a Secret's key that holds the API key.
	APIKeySecretRef *KeySelector `json:"apiKeySecretRef,omitempty"`
	// AppKeySecretRef is a Secret's key that holds the application key.
	AppKeySecretRef *KeySelector `json:"appKeySecretRef,omitempty"`
}

// ToolDynatrace reads Dynatrace.
type ToolDynatrace struct {
	// URL of its API.
	URL string `json:"url"`
	// PlatformTokenSecretRef is a Secret's key that holds the token.
	PlatformTokenSecretRef KeySelector `json:"platformTokenSecretRef"`
}

// ToolCloudwatch reads CloudWatch.
type ToolCloudwatch struct {
	// Region to read.
	Region string `json:"region"`
	// LogGroupNames to read.
	LogGroupNames []string `json:"logGroupNames,omitempty"`
	// AccessKeyIDSecretRef is a Secret's key that holds an access key's id.
	AccessKeyIDSecretRef *KeySelector `json:"accessKeyIdSecretRef,omitempty"`
	// SecretAccessKeySecretRef is a Secret's key that holds the secret access key.
	SecretAccessKeySecretRef *KeySelector `json:"secretAccessKeySecretRef,omitempty"`
	// RoleArn is a role to assume.
	RoleArn *string `json:"roleArn,omitempty"`
	// ExternalID that the role requires.
	ExternalID *string `json:"externalId,omitempty"`
	// RoleSessionName is the name of the assumed session.
	RoleSessionName *string `json:"roleSessionName,omitempty"`
}

// ToolAzure reads Azure.
type ToolAzure struct {
	// SubscriptionID to read.
	SubscriptionID string `json:"subscriptionId"`
	// TenantID of the application.
	TenantID string `json:"tenantId"`
	// ClientID of the application.
	ClientID string `json:"clientId"`
	// ClientSecretSecretRef is a Secret's key that holds its secret.
	ClientSecretSecretRef KeySelector `json:"clientSecretSecretRef"`
	// PrometheusURL is the URL of its metrics.
	PrometheusURL *string `json:"prometheusUrl,omitempty"`
}

// ToolAccessToken is a URL and an access token.
type ToolAccessToken struct {
	// URL of its API.
	URL *string `json:"url,omitempty"`
	// AccessTokenSecretRef is a Secret's key that holds the token.
	AccessTokenSecretRef *KeySelector `json:"accessTokenSecretRef,omitempty"`
}

// ToolLinear reads issues.
type ToolLinear struct {
	// AccessTokenSecretRef is a Secret's key that holds the token.
	AccessTokenSecretRef *KeySelector `json:"accessTokenSecretRef,omitempty"`
}

// ToolSlack writes messages.
type ToolSlack struct {
	// BotTokenSecretRef is a Secret's key that holds the bot's token.
	BotTokenSecretRef *KeySelector `json:"botTokenSecretRef,omitempty"`
}

// ToolPagerduty reads incidents.
type ToolPagerduty struct {
	// APITokenSecretRef is a Secret's key that holds the token.
	APITokenSecretRef *KeySelector `json:"apiTokenSecretRef,omitempty"`
}

// ToolTeams writes messages.
type ToolTeams struct {
	// ClientID of the application.
	ClientID string `json:"clientId"`
	// ClientSecretSecretRef is a Secret's key that holds its secret.
	ClientSecretSecretRef KeySelector `json:"clientSecretSecretRef"`
	// TenantID of the application.
	TenantID string `json:"tenantId"`
}

// ToolAtlassian reads issues.
type ToolAtlassian struct {
	// ServiceAccountSecretRef is a Secret's key that holds a service account.
	ServiceAccountSecretRef *KeySelector `json:"serviceAccountSecretRef,omitempty"`
	// APITokenSecretRef is a Secret's key that holds the token of email.
	APITokenSecretRef *KeySelector `json:"apiTokenSecretRef,omitempty"`
	// Email of the token's owner.
	Email *string `json:"email,omitempty"`
}

// ToolExa searches the web.
type ToolExa struct {
	// APIKeySecretRef is a Secret's key that holds the API key.
	APIKeySecretRef *KeySelector `json:"apiKeySecretRef,omitempty"`
}

// ToolGitHub uses GitHub, with a token or as an app.
type ToolGitHub struct {
	ToolAccessToken `json:",inline"`
	// Toolset of GitHub's MCP server.
	Toolset *string `json:"toolset,omitempty"`
	// AppID of the app.
	AppID *string `json:"appId,omitempty"`
	// InstallationID of the app.
	InstallationID *string `json:"installationId,omitempty"`
	// PrivateKeySecretRef is a Secret's key that holds its private key.
	PrivateKeySecretRef *KeySelector `json:"privateKeySecretRef,omitempty"`
}

// ToolToken is a URL and a token.
type ToolToken struct {
	// URL of its API.
	URL *string `json:"url,omitempty"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef *KeySelector `json:"tokenSecretRef,omitempty"`
}

// ToolLambda calls a function of AWS Lambda.
type ToolLambda struct {
	// LambdaArn is the ARN of the function.
	LambdaArn string `json:"lambdaArn"`
	// Description for models.
	Description string `json:"description"`
	// InputSchema is a JSON schema of the input.
	// +kubebuilder:pruning:PreserveUnknownFields
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`
}

// ToolFunction calls a cloud function.
type ToolFunction struct {
	// Identifier of the function.
	Identifier string `json:"identifier"`
	// Description for models.
	Description string `json:"description"`
	// InputSchema is a JSON schema of the input.
	// +kubebuilder:pruning:PreserveUnknownFields
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`
}

// ToolDocker reads a registry.
type ToolDocker struct {
	// URL of the registry.
	URL *string `json:"url,omitempty"`
	// Provider selects the field of auth that is used.
	// +kubebuilder:validation:Enum=BASIC;BEARER;GCP;AZURE;AWS
	Provider *string `json:"provider,omitempty"`
	// Auth says how to log in.
	Auth *HelmRepositoryAuth `json:"auth,omitempty"`
}
