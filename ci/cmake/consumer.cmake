# What the tests of consumers have in common. The including script has set `scratch`, a folder of its own, and gets
# SOURCE, BUILD, GENERATOR, COMPILER and FLAGS from ci/cmake/package.cmake.
file(REMOVE_RECURSE "${scratch}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}\n${log}")
  endif()
endfunction()

# Installs this build into a scratch prefix and builds the project SOURCE, which only knows that prefix.
function(build_consumer)
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${scratch}/prefix")
  run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${scratch}/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${scratch}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${scratch}/build")
endfunction()
