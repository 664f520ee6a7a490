/**
 * @file runtime_versions.c
 * Versions of packages: those that an installation says, and this library's own.
 */
#include <sys/stat.h>

#include "check.h"

static void write_version(const char *package, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "home/share/info/%s", package);
    mkdir("home", 0700);
    mkdir("home/share", 0700);
    mkdir("home/share/info", 0700);
    mkdir(path, 0700);
    strncat(path, "/version.info", sizeof path - strlen(path) - 1);
    FILE *file = fopen(path, "w");
    NEED(file == NULL);
    fputs(text, file);
    fclose(file);
}

static void versions_of_an_installation(void)
{
    static const struct {
        const char *text;
        int32_t number;
    } versions[] = {
        {"8.5.0", 80500000},           {"8.5.RC1", 80499901},     {"8.5.0.alpha2", 80499702},
        {"8.3.1.beta3", 80300803},     {"9", -1},                 {"8.x.1", -1},
        {"1.2.3.4", -1},               {"25.0.rc1", 249999901},   {"99999.1", -1},
    };
    aclCANNPackageVersion version;
    char text[ACL_PKG_VERSION_MAX_SIZE], line[64];
    int32_t number = 0;
    setenv("ASCEND_HOME_PATH", "home", 1);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; ++i) {
        snprintf(line, sizeof line, "# about\nVersion=%s\r\nother=1\n", versions[i].text);
        write_version("runtime", line);
        OK(aclsysGetVersionStr((char *)"runtime", text));
        THAT(strcmp(text, versions[i].text) == 0);
        if (versions[i].number < 0) {
            CODE(100003, aclsysGetVersionNum((char *)"runtime", &number));
        } else {
            OK(aclsysGetVersionNum((char *)"runtime", &number));
            THAT(number == versions[i].number);
        }
    }
    write_version("hccl", "Version=8.5.0.alpha001\n");
    OK(aclsysGetCANNVersion(ACL_PKG_NAME_HCCL, &version));
    THAT(strcmp(version.version, "8.5.0.alpha001") == 0);
    THAT(strcmp(version.majorVersion, "8") == 0 && strcmp(version.minorVersion, "5") == 0);
    THAT(strcmp(version.releaseVersion, "0") == 0 && strcmp(version.patchVersion, "alpha001") == 0);
    write_version("opp_kernel", "Version=8.5\n");
    OK(aclsysGetCANNVersion(ACL_PKG_NAME_OPP_KERNEL, &version));
    THAT(strcmp(version.releaseVersion, "0") == 0 && strcmp(version.patchVersion, "0") == 0);
    write_version("toolkit", "Version=8\n");
    CODE(100003, aclsysGetCANNVersion(ACL_PKG_NAME_TOOLKIT, &version));
    write_version("compiler", "nothing\n");
    CODE(100003, aclsysGetCANNVersion(ACL_PKG_NAME_COMPILER, &version));
    CODE(100003, aclsysGetCANNVersion(ACL_PKG_NAME_DRIVER, &version));
    CODE(100000, aclsysGetCANNVersion((aclCANNPackageName)8, &version));
    CODE(100000, aclsysGetCANNVersion(ACL_PKG_NAME_CANN, NULL));
}

static void versions_without_an_installation(void)
{
    aclCANNPackageVersion version;
    char text[ACL_PKG_VERSION_MAX_SIZE];
    int32_t number = 0;
    unsetenv("ASCEND_HOME_PATH");
    forget_messages();
    CODE(100003, aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version));
    /* Programs ask at their start: no answer is no failure to be told of. */
    THAT(aclGetRecentErrMsg() == NULL);
    OK(aclsysGetVersionStr((char *)"runtime", text));
    THAT(strlen(text) > 0);
    OK(aclsysGetVersionNum((char *)"hccl", &number));
    THAT(number > 0);
    CODE(100003, aclsysGetVersionStr((char *)"opp", text));
    CODE(100000, aclsysGetVersionStr((char *)"nothing", text));
    CODE(100000, aclsysGetVersionStr(NULL, text));
    CODE(100000, aclsysGetVersionStr((char *)"runtime", NULL));
    CODE(100000, aclsysGetVersionNum(NULL, &number));
    CODE(100000, aclsysGetVersionNum((char *)"runtime", NULL));
    CODE(100000, aclsysGetVersionNum((char *)"nothing", &number));
}

int main(void)
{
    RUN(versions_of_an_installation);
    RUN(versions_without_an_installation);
    return check_end();
}
