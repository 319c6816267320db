# Installation and `find_package(retrygate)`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

function(retrygate_package)
endfunction()
